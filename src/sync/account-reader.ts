import {
  type Collection,
  collection,
  type CollectionName,
  type ListCollection,
  parentsOf,
  type Scope,
} from '../model/collections.ts';
import { failureMessage } from '../postgres/sql-state.ts';
import { Mutex } from '@research-mirror/runtime/mutex';
import type { Standing } from './account-store.ts';
import { CURRENT, EarlyRuns } from './early-runs.ts';
import type { RunsAfter } from './schedule.ts';
import { type HintedOutcome, type HintedRequest, readHinted } from './read-hinted.ts';
import { type ListsRead, ListsReader, type ListsRequest } from './read-lists.ts';
import { NOTHING, type ReadOutcome } from './walk-result.ts';
import { addTotals } from '../model/sync-events.ts';
import { ReadingTurns, type ReadRequest, readRoot, readSingle, type RootReading } from './read-root.ts';
import type { ReadingContext } from './reading-context.ts';
import { SessionPool } from './scope-session.ts';
import { type ConfirmOptions, DeletionConfirmer } from './deletion-confirmer.ts';

/**
 * How often (ms) a long reading reports that it goes on; `freshness` believes it for two and a half times as long.
 */
const EACH_MS = 60_000;

/**
 * Stores while a long reading is under way, so that the collection's next run is not overdue. After a failure nothing
 * is stored until a reading has ended well: that the collection is late should show.
 */
export function longReadings({ store, clock }: Pick<ReadingContext, 'store' | 'clock'>) {
  const hasFailed = new Set<CollectionName>();
  const report = async (name: CollectionName, atOnce: boolean, over: AbortSignal): Promise<void> => {
    for (let wait = atOnce ? 0 : EACH_MS; ; wait = EACH_MS) {
      try {
        if (wait > 0) await clock.sleep(wait, over);
        await store.saveCollection(name, { readingAt: new Date(clock.now()) });
      } catch {
        // It is over; or nothing can be stored, and then pages can't either: their walk reports it.
      }
      if (over.aborted) return;
    }
  };
  /** @param atOnce it is known to be long; else that is stored after a minute */
  return async (
    name: CollectionName,
    { atOnce }: { readonly atOnce: boolean },
    read: () => Promise<ReadOutcome>,
  ): Promise<ReadOutcome> => {
    const over = new AbortController();
    const reports = hasFailed.has(name) ? undefined : report(name, atOnce, over.signal);
    let failed = true;
    try {
      const outcome = await read();
      failed = outcome.error !== undefined;
      return outcome;
    } finally {
      if (failed) hasFailed.add(name);
      else hasFailed.delete(name);
      over.abort();
      await reports;
    }
  };
}

/** Reads the collections of one account, for the daemon's schedule and for `sync` alike. */
export class AccountReader {
  readonly #context: ReadingContext;
  readonly #root: RootReading;
  readonly #turns = new ReadingTurns();
  readonly #lists: ListsReader;
  readonly #duringLong: ReturnType<typeof longReadings>;
  readonly #nextRuns: RunsAfter;
  readonly #counting = new Mutex();

  constructor(context: ReadingContext, nextRuns: RunsAfter) {
    this.#context = context;
    this.#nextRuns = nextRuns;
    const turns = this.#turns;
    const sessions = new SessionPool(context.store);
    const confirmer = new DeletionConfirmer(context, sessions);
    const runs = new EarlyRuns(context.clock, context.source, nextRuns);
    this.#root = { context, sessions, confirmer, turns, runs };
    this.#lists = new ListsReader(context, sessions, confirmer);
    this.#duringLong = longReadings(context);
  }

  get userId(): string {
    return this.#context.fence.userId;
  }

  /**
   * Reads the collection once, beginning after the call.
   * @throws LeaseLost, KeyRefused: the account can't go on; the signal's reason
   */
  async read(name: CollectionName, request: ReadRequest): Promise<ReadOutcome> {
    const found = collection(name);
    // A poll of one scope is short; a poll of many, or one that may become a walk, need not be.
    const short = found.kind === 'single' || (request.what === 'poll' && found.parent === undefined);
    const read = (): Promise<ReadOutcome> => this.#read(found, request);
    const atOnce = request.what === 'full' || request.what === 'rows';
    return short ? read() : this.#duringLong(name, { atOnce }, read);
  }

  async #read(found: Collection, request: ReadRequest): Promise<ReadOutcome> {
    const { name } = found;
    const { what, signal, scheduled = false, accept = false } = request;
    // Before anything rests on the counters, as the brake does. Two at a time would both correct the same.
    if (what === 'full') await this.#counting.run(() => this.#context.store.recount(name));
    if (found.kind === 'single') {
      const onRead = this.#root.runs.onRead(name, 'full');
      return this.#turns.run(name, 'poll', () => readSingle(this.#context, found, onRead, signal));
    }
    if (found.parent !== undefined) {
      const each = what === 'full' ? 'full' : 'poll';
      return this.#turns.run(name, each, () => {
        const until = scheduled ? this.#nextPoll(name) : undefined;
        return this.#readLists(found, { what: each, dueOnly: false, until, accept, signal });
      });
    }
    return readRoot(this.#root, found, request);
  }

  /** The next run of its cron line; undefined: it has none. */
  #nextPoll(name: CollectionName): Date | undefined {
    return this.#nextRuns(name, new Date(this.#context.clock.now())).nextPollAt ?? undefined;
  }

  /** Reads the collection's lists that a change made due, until the cron line's next run reads them with all others. */
  async readDue(name: CollectionName, signal: AbortSignal): Promise<ReadOutcome> {
    const found = collection(name);
    if (found.kind !== 'list' || found.parent === undefined) return NOTHING;
    return this.#turns.run(name, 'poll', () => {
      const until = this.#nextPoll(name);
      const request = { what: 'poll', dueOnly: true, until, accept: false, signal } as const;
      return this.#readLists(found, request);
    });
  }

  /**
   * Reads the rows of one scope that events named, in the fewest requests.
   * @throws LeaseLost, KeyRefused: the account can't go on
   */
  async readHinted(scope: Scope, request: HintedRequest): Promise<HintedOutcome> {
    const { collection: name, parent } = scope;
    const found = collection(name);
    const { keys, known, ...bounds } = request;
    const { signal } = bounds;
    // A stopped reading has no error, and has read a part at best.
    const isWholly = ({ error }: ReadOutcome): boolean => error === undefined && !signal.aborted;
    if (found.kind === 'single') {
      const outcome = await this.read(name, { what: 'current', signal });
      return { outcome, walkNeeded: false, covers: () => isWholly(outcome) };
    }
    if (found.parent !== undefined) {
      const read = await this.#lists.readOne(found, parent, bounds);
      const confirmed = await this.#deleteProven(found, read, { signal, accept: false });
      const error = read.error ?? confirmed.error;
      const totals = addTotals(read.totals, confirmed.totals);
      const outcome = { ...NOTHING, error, totals, ...this.#ensuing(found, read) };
      return { outcome, walkNeeded: false, covers: () => isWholly(outcome) };
    }
    return this.#root.sessions.use(scope, found, (session) => {
      const { context, runs } = this.#root;
      const reading = { context, collection: found, session, onRead: runs.onPoll(name), ...bounds };
      return readHinted(name, reading, { keys, known }, (task) => this.#turns.run(name, 'poll', task));
    });
  }

  /** A full walk of the collection is under way. */
  isWalking(name: CollectionName): boolean {
    return this.#turns.isWalking(name);
  }

  /**
   * Reads suspects again whose grace period is over: those that polls found, and those that an earlier process left.
   * @returns when (ms from now) there will be more to do; undefined: not before new suspects come
   */
  async confirmDeletions(
    name: CollectionName,
    signal: AbortSignal,
  ): Promise<ReadOutcome & { readonly againMs: number | undefined }> {
    const found = collection(name);
    if (found.kind === 'single') return { ...NOTHING, againMs: undefined };
    return this.#turns.run(name, 'suspects', () =>
      this.#root.confirmer.confirmDue(found, { signal, accept: false }),
    );
  }

  /** Proves what readings found complete, so that it is stored. Where the proof fails, the next one stores it. */
  async proveComplete(signal: AbortSignal): Promise<void> {
    if (this.#context.source.hasClaims) await this.#context.source.whyNotProven(signal);
  }

  /** The collection's rows, its blocked and suspected deletions, and as of when it is complete. */
  standingOf(name: CollectionName): Promise<Standing> {
    return this.#context.store.standingOf(name);
  }

  /** A full reading that begins now makes its collection complete as of then or later. */
  completeFromNow(): Date {
    return new Date(this.#context.clock.now() - this.#context.gracePeriodMs);
  }

  async #readLists(lists: ListCollection, request: ListsRequest): Promise<ReadOutcome> {
    const { name } = lists;
    const read = await this.#lists.read(lists, request);
    const confirmed =
      request.what === 'full'
        ? await this.#turns.run(name, 'suspects', () => {
            // It has the turn already: no other full walk of these lists comes between.
            const walkTurn = <T>(task: () => Promise<T>): Promise<T> => task();
            return this.#root.confirmer.finish(lists, read.whole, { ...request, patient: true, walkTurn });
          })
        : await this.#deleteProven(lists, read, request);
    const error = read.error ?? confirmed.error;
    if (request.dueOnly && read.count === 0) return { ...NOTHING, error };
    await this.#context.store.saveLists(lists, (failing) => {
      // A list's failure stays until the list is read, also one that this pass left out.
      const message = failing ?? (error === undefined ? undefined : failureMessage(error));
      return {
        ...(message === undefined ? CURRENT : { state: 'failing', failure: { message, at: read.since } }),
        // Lists that a change made due are read beside the cron line's runs, and serve none.
        ...(request.dueOnly ? {} : this.#root.runs.runsAfter(name, request.what, read.since, request.until)),
      };
    });
    return {
      error,
      totals: addTotals(read.totals, confirmed.totals),
      fullNeeded: false,
      unproven: confirmed.unproven,
      ...this.#ensuing(lists, { ...read, suspects: read.suspects || request.what === 'full' }),
    };
  }

  /** Deletes the items that readings of lists proved gone: one proof of whose data it is serves all lists. */
  async #deleteProven(
    lists: ListCollection,
    { proven }: Pick<ListsRead, 'proven'>,
    options: ConfirmOptions,
  ): Promise<ReadOutcome> {
    if (!proven) return NOTHING;
    return this.#turns.run(lists.name, 'suspects', () => this.#root.confirmer.deleteProven(lists, options));
  }

  /** What is to be done after lists were read. */
  #ensuing(
    lists: ListCollection,
    { suspects, suspected }: Pick<ListsRead, 'suspects' | 'suspected'>,
  ): Pick<ReadOutcome, 'suspects' | 'fullWalks'> {
    const { collection: parents } = parentsOf(lists);
    return {
      suspects: [...(suspects ? [lists.name] : []), ...(suspected === 'some' ? [parents] : [])],
      fullWalks: suspected === 'full-needed' ? [parents] : [],
    };
  }
}
