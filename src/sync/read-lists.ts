import { PRIORITY, type Priority } from '../budget/priorities.ts';
import { collection, type ListCollection, parentsOf, type Scope } from '../model/collections.ts';
import { KeyRefused } from '../model/errors.ts';
import { passOverScopes } from './list-pass.ts';
import { both, pollScope, readAll, type ScopeReading } from './read-scope.ts';
import type { Reader } from './reader.ts';
import type { ScopeSession } from './scope-session.ts';
import type { SessionPool } from './session-pool.ts';
import type { DoubtSettler } from './settle-doubts.ts';
import type { ReadWhole, WalkResult } from './walk-result.ts';
import { addTotals, NO_TOTALS, type ReadTotals } from './walk-totals.ts';

export interface ListsRequest {
  readonly what: 'poll' | 'full';
  /** Only those that a change made due. */
  readonly dueOnly: boolean;
  readonly accept: boolean;
  readonly signal: AbortSignal;
}

/** What a pass over lists did. */
export interface ListsRead {
  /** When it began. */
  readonly since: Date;
  readonly totals: ReadTotals;
  /** The first failure, and how many lists failed. */
  readonly error: Error | undefined;
  readonly failed: number;
  /** Lists that were read whole, and that are not known to be complete yet. */
  readonly whole: ReadonlyMap<string, ReadWhole>;
  /** Rows of lists are in doubt. */
  readonly doubts: boolean;
  /** Lists that the service does not know: what became of their rows. */
  readonly suspected: 'none' | 'in-doubt' | 'full-needed';
}

/** Lists that are read side by side at most. The budget decides the pace; this only hides latency. */
const WORKERS = 4;

/** Reads a collection that has one scope for each row of its parent's: each of them, or those that are due. */
export class ListsReader {
  readonly #reader: Reader;
  readonly #sessions: SessionPool;
  readonly #settler: DoubtSettler;
  /** Lists that the service did not know when they were read last; their row was looked at once. */
  readonly #unknown = new Set<string>();

  constructor(reader: Reader, sessions: SessionPool, settler: DoubtSettler) {
    this.#reader = reader;
    this.#sessions = sessions;
    this.#settler = settler;
  }

  async read(lists: ListCollection, { what, dueOnly, accept, signal }: ListsRequest): Promise<ListsRead> {
    const since = new Date(this.#reader.clock.now());
    const whole = new Map<string, ReadWhole>();
    const suspects: string[] = [];
    let totals = NO_TOTALS;
    let error: Error | undefined;
    let failed = 0;
    let doubts = false;
    await passOverScopes(
      this.#reader.store,
      {
        lists,
        since,
        dueOnly,
        fully: what === 'full',
        workers: WORKERS,
        crowded: () => this.#reader.source.isCrowded(),
        signal,
      },
      async ({ scope }) => {
        const result = await this.#readList(lists, scope, what, {
          accept,
          priority: PRIORITY.LISTS,
          signal,
        });
        if (result.error instanceof KeyRefused) throw result.error;
        totals = addTotals(totals, result.totals);
        doubts ||= result.doubts;
        if (this.#isNewlyUnknown(scope, result)) suspects.push(scope.parent);
        if (result.whole?.complete === false) whole.set(scope.parent, result.whole);
        if (result.error === undefined) return true;
        error ??= result.error;
        failed += 1;
        return false;
      },
    );
    if (suspects.length === 0) return { since, totals, error, failed, whole, doubts, suspected: 'none' };
    const { suspected, more } = await this.#suspect(lists, suspects, signal);
    return { since, totals: addTotals(totals, more), error, failed, whole, doubts, suspected };
  }

  /** Reads one list, as a pass does. @throws KeyRefused */
  async readOne(
    lists: ListCollection,
    parent: string,
    { priority, signal }: { readonly priority: Priority; readonly signal: AbortSignal },
  ): Promise<Pick<ListsRead, 'totals' | 'error' | 'doubts' | 'suspected'>> {
    const scope: Scope = { userId: this.#reader.fence.userId, collection: lists.name, parent };
    const result = await this.#readList(lists, scope, 'poll', { accept: false, priority, signal });
    const { error, doubts, totals } = result;
    if (error instanceof KeyRefused) throw error;
    if (!this.#isNewlyUnknown(scope, result)) return { totals, error, doubts, suspected: 'none' };
    const { suspected, more } = await this.#suspect(lists, [parent], signal);
    return { totals: addTotals(totals, more), error, doubts, suspected };
  }

  #readList(
    lists: ListCollection,
    scope: Scope,
    what: 'poll' | 'full',
    options: Pick<ScopeReading, 'priority' | 'signal'> & { readonly accept: boolean },
  ): Promise<WalkResult> {
    return this.#sessions.use(scope, lists, (session) =>
      session.inTurn(async () => {
        const reading = { reader: this.#reader, collection: lists, session, ...options };
        const all = (): Promise<WalkResult> => readAll(reading);
        if (what === 'full' || !session.everComplete) return andSince(session, all, all);
        const polled = await pollScope(reading);
        return polled.outcome === 'full-needed' ? all() : polled;
      }),
    );
  }

  /** 404 says that the list is gone, or else that the service is confused: its row in the lists tells. */
  #isNewlyUnknown({ parent }: Scope, { status, error }: WalkResult): boolean {
    if (status !== 404) {
      if (error === undefined) this.#unknown.delete(parent);
      return false;
    }
    const isNew = !this.#unknown.has(parent);
    this.#unknown.add(parent);
    return isNew;
  }

  /**
   * Where the lists do not come in one answer, only a full walk may put their rows in doubt.
   * @returns `more`: what it cost, and what it deleted
   */
  async #suspect(
    lists: ListCollection,
    keys: readonly string[],
    signal: AbortSignal,
  ): Promise<Pick<ListsRead, 'suspected'> & { readonly more: Partial<ReadTotals> }> {
    const parents = collection(parentsOf(lists).table);
    if (parents.kind !== 'list') return { suspected: 'none', more: {} };
    const result = await this.#settler.suspect(parents, keys, signal);
    if (result.error instanceof KeyRefused) throw result.error;
    // What failed is looked at again with the next 404.
    if (result.error !== undefined) for (const key of keys) this.#unknown.delete(key);
    const { requests, rateLimited, deleted, along } = result.totals;
    const more = { requests, rateLimited, along: new Map([...along, [parents.name, deleted]]) };
    if (result.doubts) return { suspected: 'in-doubt', more };
    const told = result.outcome === 'complete' || result.error !== undefined;
    return { suspected: told ? 'none' : 'full-needed', more };
  }
}

/**
 * Reads all pages. A walk that goes on where one was interrupted does not read again what that one passed: `since`
 * then brings what has come there meanwhile.
 */
export async function andSince(
  session: ScopeSession,
  all: () => Promise<WalkResult>,
  since: () => Promise<WalkResult>,
): Promise<WalkResult> {
  const resumes = session.fullWalk !== undefined;
  const whole = await all();
  if (!resumes || whole.outcome !== 'complete') return whole;
  return both(whole, await since());
}
