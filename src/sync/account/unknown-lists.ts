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

/** What is known of the rows of such lists. */
export interface Unknown {
  /** `some` are suspected now; `full-needed`: only a full walk can tell. */
  readonly suspected: 'none' | 'some' | 'full-needed';
  /** Lists that are not known to be gone: they could not be read. */
  readonly refused: readonly RequestRefused[];
  /** What it cost, and what it deleted. */
  readonly more: Partial<ReadTotals>;
}

/**
 * Lists that are refused one by one although they were listed. A list whose row is gone, too, is no failure: walks of
 * the lists prove that twice and delete it. A list that is still listed could not be read: that is reported until it
 * can be read, or is gone.
 */
export class UnknownLists {
  readonly #context: ReadingContext;
  readonly #confirmer: DeletionConfirmer;
  /** Lists whose row was read again and was not there: a full walk is asked for once, the next is the schedule's. */
  readonly #missing = new Set<string>();

  constructor(context: ReadingContext, confirmer: DeletionConfirmer) {
    this.#context = context;
    this.#confirmer = confirmer;
  }

  /**
   * Reads their rows again. Without a trusted order, or an answer that is the whole list, only a full walk can
   * suspect them.
   * @param since none of the lists was asked for before
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
    // A suspect is read once: that may be its second proof.
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
      const needsWalk = !gone && !listed && read?.error === undefined && !known.has(key);
      walk ||= needsWalk;
      if (listed || read?.error !== undefined) this.#missing.delete(key);
      else this.#missing.add(key);
      const fails = !gone && !needsWalk;
      const why = listed
        ? `although ${parents.path('')} shows it`
        : 'and whether it is gone is not known yet';
      const message = `list ${key}: GET ${lists.path(key)} answers ${status} ${why}`;
      if (fails) refused.push(new RequestRefused(message, status));
      // A list that is gone has nothing new.
      await this.#note(scope, fails ? message : undefined, fails ? {} : { polledAt: since });
    }
    const suspected = read?.suspects === true ? 'some' : walk ? 'full-needed' : 'none';
    return { suspected, refused, more: read === undefined ? {} : costOf(parents, read) };
  }

  /** Stores why the list could not be read; undefined: it is no failure. */
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

/** The collection of items counts deleted lists among the rows of other collections. */
function costOf({ name }: ListCollection, { totals }: WalkResult): Partial<ReadTotals> {
  const { requests, rateLimited, deleted, along } = totals;
  return { requests, rateLimited, along: new Map([...along, [name, deleted]]) };
}
