import { collection, type ListCollection, parentsOf, type Scope } from '../../model/collections.ts';
import { KeyRefused, RequestRefused } from '../../model/errors.ts';
import type { ScopeChange } from '../../mirror/page-write.ts';
import type { ReadingContext } from '../reader/reading-context.ts';
import type { DeletionConfirmer } from '../second-proofs/deletion-confirmer.ts';
import type { WalkResult } from '../walk-run/walk-result.ts';
import type { ReadTotals } from '../walk-run/walk-totals.ts';

/** A list that the service says it does not have. */
export interface UnknownList {
  readonly scope: Scope;
  readonly status: number;
}

/** What became of the rows of lists that the service does not know. */
export interface Unknown {
  /** Some are in doubt now, or only a full walk can tell. */
  readonly suspected: 'none' | 'in-doubt' | 'full-needed';
  /** Those that are not known to be gone: they could not be read. */
  readonly refused: readonly RequestRefused[];
  /** What it cost, and what it deleted. */
  readonly more: Partial<ReadTotals>;
}

/**
 * Lists that are refused one by one although they were listed. One whose row is gone, too, is no failure: it goes when
 * walks of the lists have proved it twice. One that is listed still could not be read, and that is to be said until
 * it can be, or is gone.
 */
export class UnknownLists {
  readonly #context: ReadingContext;
  readonly #confirmer: DeletionConfirmer;
  /** Whose rows were looked at, and were not listed: a full walk is asked for once, the next one is the schedule's. */
  readonly #missing = new Set<string>();

  constructor(context: ReadingContext, confirmer: DeletionConfirmer) {
    this.#context = context;
    this.#confirmer = confirmer;
  }

  /**
   * Reads their rows again. Where neither one answer nor a trusted order tells, only a full walk may put them in doubt.
   * @param since no list was asked for before
   * @throws KeyRefused, LeaseLost
   */
  async judge(
    lists: ListCollection,
    unknown: readonly UnknownList[],
    since: Date,
    signal: AbortSignal,
  ): Promise<Unknown> {
    const parents = collection(parentsOf(lists).table);
    if (unknown.length === 0 || parents.kind !== 'list') return { suspected: 'none', refused: [], more: {} };
    const before = await this.#suspectLists(parents);
    const known = new Set(this.#missing);
    // A row in doubt is looked at once: that may be its second proof.
    const asked = unknown
      .map(({ scope }) => scope.parent)
      .filter((key) => !before.has(key) || !known.has(key));
    const read = asked.length === 0 ? undefined : await this.#confirmer.suspect(parents, asked, signal);
    if (read?.error instanceof KeyRefused) throw read.error;
    const suspectLists = await this.#suspectLists(parents);
    const refused: RequestRefused[] = [];
    let walk = false;
    for (const { scope, status } of unknown) {
      const key = scope.parent;
      const listed = read?.seen.has(key) === true;
      const gone = suspectLists.has(key) || (await this.#isDeleted(scope));
      const untold = !gone && !listed && read?.error === undefined && !known.has(key);
      walk ||= untold;
      if (listed || read?.error !== undefined) this.#missing.delete(key);
      else this.#missing.add(key);
      const fails = !gone && !untold;
      const why = listed
        ? `although ${parents.path('')} shows it`
        : 'and whether it is gone is not known yet';
      const message = `list ${key}: GET ${lists.path(key)} answers ${status} ${why}`;
      if (fails) refused.push(new RequestRefused(message, status));
      // Of a list that is gone there is nothing new.
      await this.#note(scope, fails ? message : undefined, fails ? {} : { polledAt: since });
    }
    const suspected = read?.suspects === true ? 'in-doubt' : walk ? 'full-needed' : 'none';
    return { suspected, refused, more: read === undefined ? {} : costOf(parents, read) };
  }

  /** Why the list could not be read, in place of its refusal; undefined: it need not be. */
  #note(scope: Scope, message: string | undefined, read: Pick<ScopeChange, 'polledAt'>): Promise<void> {
    const { fence, mirror, clock } = this.#context;
    const failure = message === undefined ? null : { message, at: new Date(clock.now()) };
    return mirror.endWalk(fence, scope, { scope: { failure, ...read } }, undefined);
  }

  async #suspectLists({ name }: ListCollection): Promise<Set<string>> {
    const scope: Scope = { userId: this.#context.fence.userId, collection: name, parent: '' };
    return new Set((await this.#context.store.suspectsOf(scope)).map(({ key }) => key));
  }

  async #isDeleted(scope: Scope): Promise<boolean> {
    return (await this.#context.store.openScope(scope)).goneAt !== undefined;
  }
}

/** Rows that went with it are the lists' own. */
function costOf({ name }: ListCollection, { totals }: WalkResult): Partial<ReadTotals> {
  const { requests, rateLimited, deleted, along } = totals;
  return { requests, rateLimited, along: new Map([...along, [name, deleted]]) };
}
