import { PRIORITY } from '../budget/priorities.ts';
import type { CollectionChange, WalkTotals } from '../mirror/walk-end.ts';
import { collection, type CollectionName, type ListCollection, type Scope } from '../model/collections.ts';
import { KeyRefused } from '../model/errors.ts';
import { Mutex } from '../runtime/mutex.ts';
import { messageOf } from '../runtime/message.ts';
import { passOverScopes } from './list-pass.ts';
import { pollScope, readAll } from './read-scope.ts';
import { readSingle } from './read-single.ts';
import type { Reader } from './reader.ts';
import type { ScopeSession } from './scope-session.ts';
import { SessionPool } from './session-pool.ts';
import type { WalkResult } from './walk-run.ts';
import { addTotals, NO_TOTALS } from './walk-totals.ts';

/** How a collection was read. `error` is given when the mirror does not hold all that it should afterwards. */
export interface ReadOutcome {
  readonly error: Error | undefined;
  readonly totals: WalkTotals;
  /** A poll could not do the work: nothing but a full walk can (the first one, or for want of an order). */
  readonly fullNeeded: boolean;
}

export interface ReadRequest {
  /**
   * - `full`: every row
   * - `poll`: new rows and changes of unsettled rows, where a poll can tell them; else the outcome says `fullNeeded`
   * - `current`: the same, with a full walk where a poll can't
   */
  readonly what: 'full' | 'poll' | 'current';
  readonly signal: AbortSignal;
}

/** When a collection's walks are next promised. */
type NextFirings = (name: CollectionName) => Required<Pick<CollectionChange, 'nextPollAt' | 'nextFullAt'>>;

const CURRENT = { state: 'current', failure: null } satisfies CollectionChange;

/** Lists that are read side by side at most. The budget decides the pace; this only hides latency. */
const LIST_WORKERS = 4;

/** Reads the collections of one account, for the daemon's schedule and for `sync` alike. */
export class AccountReader {
  readonly #reader: Reader;
  readonly #sessions: SessionPool;
  /** One poll and one full walk of a collection at a time; a second request begins a new one after it. */
  readonly #turns = new Map<string, Mutex>();
  /** Collections of which a full walk is under way. */
  readonly #walking = new Set<CollectionName>();
  readonly #nextFirings: NextFirings;

  /** @param nextFirings when the collection's cron lines fire next, null for never: shown in `freshness` */
  constructor(reader: Reader, nextFirings: NextFirings) {
    this.#reader = reader;
    this.#sessions = new SessionPool(reader.store);
    this.#nextFirings = nextFirings;
  }

  get userId(): string {
    return this.#reader.fence.userId;
  }

  /**
   * Reads the collection once, beginning after the call.
   * @throws LeaseLost, KeyRefused: the account can't go on; the signal's reason
   */
  async read(name: CollectionName, { what, signal }: ReadRequest): Promise<ReadOutcome> {
    const found = collection(name);
    if (found.kind === 'single') {
      return this.#turn(name, async () =>
        this.#outcome(await readSingle(this.#reader, found, this.#onRead(name, 'full'), signal)),
      );
    }
    if (found.parent !== undefined) {
      const each = what === 'full' ? 'full' : 'poll';
      return this.#turn(`${name}/${each}`, () => this.#readLists(found, each, signal, false));
    }
    const scope = { userId: this.userId, collection: name, parent: '' };
    return this.#sessions.use(scope, found, async (session) => {
      const reading = { reader: this.#reader, collection: found, session, signal };
      const all = (): Promise<WalkResult> =>
        readAll({ ...reading, onRead: this.#onRead(name, 'full'), priority: PRIORITY.FULL });
      // While a first load goes on, polls bring what is new.
      const poll = async (): Promise<WalkResult | undefined> => {
        if (!session.everComplete && session.memory.frontier === null) return undefined;
        const onRead = this.#onRead(name, 'poll');
        const polled = await pollScope({ ...reading, onRead, priority: PRIORITY.POLL });
        return polled.outcome === 'full-needed' ? undefined : polled;
      };
      const full = (): Promise<WalkResult> =>
        andSince(session, all, async () => (await this.#turn(`${name}/poll`, poll)) ?? (await all()));
      if (what === 'full') return this.#outcome(await this.#fullTurn(name, full));
      const polled = await this.#turn(`${name}/poll`, poll);
      if (polled !== undefined && session.everComplete) return this.#outcome(polled);
      if (what === 'poll') {
        if (polled === undefined) return { error: undefined, totals: NO_TOTALS, fullNeeded: true };
        // The first load is under way, or was broken off and has to go on.
        return { ...this.#outcome(polled), fullNeeded: !this.#walking.has(name) };
      }
      // A full walk may be under way: when it has ended, a poll may do.
      return this.#fullTurn(name, async () => {
        const again = session.everComplete ? await this.#turn(`${name}/poll`, poll) : undefined;
        return this.#outcome(again ?? (await full()));
      });
    });
  }

  /** Reads those lists of the collection that a change or a hint made due. */
  async readDue(name: CollectionName, signal: AbortSignal): Promise<ReadOutcome> {
    const found = collection(name);
    if (found.kind !== 'list' || found.parent === undefined)
      return { error: undefined, totals: NO_TOTALS, fullNeeded: false };
    return this.#turn(`${name}/poll`, () => this.#readLists(found, 'poll', signal, true));
  }

  async #readLists(
    lists: ListCollection,
    what: 'poll' | 'full',
    signal: AbortSignal,
    dueOnly: boolean,
  ): Promise<ReadOutcome> {
    const { name } = lists;
    const since = new Date(this.#reader.clock.now());
    let first: Error | undefined;
    let failed = 0;
    let totals = NO_TOTALS;
    await passOverScopes(
      this.#reader.store,
      {
        lists,
        since,
        dueOnly,
        fully: what === 'full',
        workers: LIST_WORKERS,
        crowded: () => this.#reader.source.isCrowded(),
        signal,
      },
      async ({ scope }) => {
        const result = await this.#readList(lists, scope, what, signal);
        const { error } = this.#outcome(result);
        totals = addTotals(totals, result.totals);
        if (error === undefined) return true;
        first ??= error;
        failed += 1;
        return false;
      },
    );
    const failure = { message: `${failed} lists could not be read: ${messageOf(first)}`, at: since };
    const polledAt = await this.#reader.store.listsPolledAt(lists);
    await this.#reader.store.saveCollection(name, {
      // What came due is a part: that it was read says nothing of lists that failed before.
      ...(first !== undefined ? { state: 'failing', failure } : dueOnly ? {} : CURRENT),
      ...(polledAt === undefined ? {} : { polledAt }),
      ...this.#firingsAfter(name, what),
    });
    return { error: first, totals, fullNeeded: false };
  }

  #readList(
    lists: ListCollection,
    scope: Scope,
    what: 'poll' | 'full',
    signal: AbortSignal,
  ): Promise<WalkResult> {
    return this.#sessions.use(scope, lists, async (session) => {
      const reading = { reader: this.#reader, collection: lists, session, signal, priority: PRIORITY.LISTS };
      const all = (): Promise<WalkResult> => readAll(reading);
      if (what === 'full' || !session.everComplete) return andSince(session, all, all);
      const polled = await pollScope(reading);
      return polled.outcome === 'full-needed' ? all() : polled;
    });
  }

  /** What `freshness` is to say when the collection was read well. */
  #onRead(name: CollectionName, what: 'poll' | 'full'): (asOf: Date) => CollectionChange {
    return (asOf) => ({ polledAt: asOf, ...CURRENT, ...this.#firingsAfter(name, what) });
  }

  /** A full walk stays promised until one has ended: a poll meanwhile must not put it off. */
  #firingsAfter(name: CollectionName, what: 'poll' | 'full'): CollectionChange {
    const { nextPollAt, nextFullAt } = this.#nextFirings(name);
    return what === 'poll' ? { nextPollAt } : { nextPollAt, nextFullAt };
  }

  #outcome(result: Pick<WalkResult, 'error' | 'totals'>): ReadOutcome {
    if (result.error instanceof KeyRefused) throw result.error;
    return { error: result.error, totals: result.totals, fullNeeded: false };
  }

  async #fullTurn<T>(name: CollectionName, task: () => Promise<T>): Promise<T> {
    return this.#turn(`${name}/full`, async () => {
      this.#walking.add(name);
      try {
        return await task();
      } finally {
        this.#walking.delete(name);
      }
    });
  }

  #turn<T>(name: string, task: () => Promise<T>): Promise<T> {
    const mutex = this.#turns.get(name) ?? new Mutex();
    this.#turns.set(name, mutex);
    return mutex.run(task);
  }
}

/**
 * Reads all pages. A walk that goes on where one was interrupted does not read again what that one passed: `since`
 * then brings what has come there meanwhile.
 */
async function andSince(
  session: ScopeSession,
  all: () => Promise<WalkResult>,
  since: () => Promise<WalkResult>,
): Promise<WalkResult> {
  const resumes = session.fullWalk !== undefined;
  const whole = await all();
  if (!resumes || whole.outcome !== 'complete') return whole;
  const later = await since();
  return { ...later, totals: addTotals(whole.totals, later.totals) };
}
