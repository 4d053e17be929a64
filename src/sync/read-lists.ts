import { PRIORITY, type Priority } from '../budget/priorities.ts';
import type { ListCollection, Scope } from '../model/collections.ts';
import { KeyRefused } from '../model/errors.ts';
import { passOverScopes } from './list-pass.ts';
import { both, pollScope, readAll, type ScopeReading } from './read-scope.ts';
import type { Reader } from './reader.ts';
import type { ScopeSession } from './scope-session.ts';
import type { SessionPool } from './session-pool.ts';
import type { DoubtSettler } from './settle-doubts.ts';
import type { ReadWhole, WalkResult } from './walk-result.ts';
import { isUnknown, type Unknown, type UnknownList, UnknownLists } from './unknown-lists.ts';
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
  /** The first failure. */
  readonly error: Error | undefined;
  /** Lists that were read whole, and that are not known to be complete yet. */
  readonly whole: ReadonlyMap<string, ReadWhole>;
  /** Rows of lists are in doubt. */
  readonly doubts: boolean;
  /** Lists that the service does not know: what became of their rows. */
  readonly suspected: Unknown['suspected'];
}

/** Lists that are read side by side at most. The budget decides the pace; this only hides latency. */
const WORKERS = 4;

/** Reads a collection that has one scope for each row of its parent's: each of them, or those that are due. */
export class ListsReader {
  readonly #reader: Reader;
  readonly #sessions: SessionPool;
  readonly #unknown: UnknownLists;

  constructor(reader: Reader, sessions: SessionPool, settler: DoubtSettler) {
    this.#reader = reader;
    this.#sessions = sessions;
    this.#unknown = new UnknownLists(reader, settler);
  }

  async read(lists: ListCollection, { what, dueOnly, accept, signal }: ListsRequest): Promise<ListsRead> {
    const since = new Date(this.#reader.clock.now());
    const whole = new Map<string, ReadWhole>();
    const unknown: UnknownList[] = [];
    let totals = NO_TOTALS;
    let error: Error | undefined;
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
        if (result.whole?.complete === false) whole.set(scope.parent, result.whole);
        if (isUnknown(result)) {
          unknown.push({ scope, status: result.status });
          return false;
        }
        if (result.error === undefined) return true;
        error ??= result.error;
        return false;
      },
    );
    const { suspected, refused, more } = await this.#unknown.judge(lists, unknown, signal);
    return { since, totals: addTotals(totals, more), error: error ?? refused[0], whole, doubts, suspected };
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
    if (!isUnknown(result)) return { totals, error, doubts, suspected: 'none' };
    const unknown = [{ scope, status: result.status }];
    const { suspected, refused, more } = await this.#unknown.judge(lists, unknown, signal);
    return { totals: addTotals(totals, more), error: refused[0], doubts, suspected };
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
