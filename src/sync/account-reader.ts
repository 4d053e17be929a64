/** The readings of one account, for cron lines, hints and commands alike: which one, and one at a time. */

import { Mutex } from '@research-mirror/runtime/mutex';
import {
  type Collection,
  collection,
  type CollectionName,
  type ListCollection,
  type Scope,
} from '../model/collections.ts';
import { failureMessage } from '../postgres/sql-state.ts';
import type { Standing } from './account-store.ts';
import { type ConfirmOptions, DeletionConfirmer } from './deletion-confirmer.ts';
import { CURRENT, EarlyRuns } from './early-runs.ts';
import { type HintedOutcome, type HintedRequest, readHinted } from './read-hinted.ts';
import { ListsReader } from './read-lists.ts';
import { ReadingTurns, type ReadRequest, readRoot, readSingle } from './read-root.ts';
import type { ReadingContext } from './reading-context.ts';
import type { RunsAfter } from './schedule.ts';
import { SessionPool } from './scope-session.ts';
import { EMPTY_OUTCOME, joinOutcomes, type ReadOutcome } from './walk-result.ts';

/** How often a long reading reports that it goes on, ms; `freshness` believes it 2.5 times as long. */
const REPORT_MS = 60_000;

/**
 * Reports while a long reading is running, so that the collection's next run is not overdue. After a failure nothing is
 * reported until a reading has ended well: it should show that the collection is late.
 */
export function longReadings({ store, clock }: Pick<ReadingContext, 'store' | 'clock'>) {
  const hasFailed = new Set<CollectionName>();
  const report = async (name: CollectionName, atOnce: boolean, over: AbortSignal): Promise<void> => {
    for (let wait = atOnce ? 0 : REPORT_MS; ; wait = REPORT_MS) {
      try {
        if (wait > 0) await clock.sleep(wait, over);
        await store.saveCollection(name, { readingAt: new Date(clock.now()) });
      } catch {
        // It is over; or nothing can be stored, and then pages can't either: their walk reports it.
      }
      if (over.aborted) return;
    }
  };
  /** @param atOnce it is known to be long; otherwise the first report comes after a minute */
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
  readonly #root: Parameters<typeof readRoot>[0];
  readonly #turns = new ReadingTurns();
  readonly #lists: ListsReader;
  readonly #duringLong: ReturnType<typeof longReadings>;
  readonly #nextRuns: RunsAfter;
  readonly #counting = new Mutex();

  constructor(context: ReadingContext, nextRuns: RunsAfter) {
    this.#context = context;
    this.#nextRuns = nextRuns;
    const sessions = new SessionPool(context);
    const confirmer = new DeletionConfirmer(context, sessions);
    const runs = new EarlyRuns(context.clock, context.source, nextRuns);
    this.#root = { context, sessions, confirmer, turns: this.#turns, runs };
    this.#lists = new ListsReader(context, sessions, confirmer);
    this.#duringLong = longReadings(context);
  }

  get userId(): string {
    return this.#context.fence.userId;
  }

  /** Reads the collection once, beginning after the call. @throws LeaseLost, KeyRefused; the signal's reason */
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
    // First, since the brake rests on the counters. Two at a time would both correct the same.
    if (what === 'full') await this.#counting.run(() => this.#context.store.recount(name));
    if (found.kind === 'single') {
      const onRead = this.#root.runs.onRead(name, 'full');
      return this.#turns.run(name, 'poll', () => readSingle(this.#context, found, onRead, signal));
    }
    if (found.parent === undefined) return readRoot(this.#root, found, request);
    const each = what === 'full' ? 'full' : 'poll';
    return this.#turns.run(name, each, () => {
      const until = scheduled ? this.#nextPoll(name) : undefined;
      return this.#readLists(found, { what: each, dueOnly: false, until, accept, signal });
    });
  }

  /** The next run of its cron line; undefined: it has none. */
  #nextPoll(name: CollectionName): Date | undefined {
    return this.#nextRuns(name, new Date(this.#context.clock.now())).nextPollAt ?? undefined;
  }

  /** Reads the collection's lists that a change made due, until the cron line's next run reads them with all others. */
  async readDue(name: CollectionName, signal: AbortSignal): Promise<ReadOutcome> {
    const found = collection(name);
    if (found.kind !== 'list' || found.parent === undefined) return EMPTY_OUTCOME;
    return this.#turns.run(name, 'poll', () =>
      this.#readLists(found, { what: 'poll', dueOnly: true, until: this.#nextPoll(name), signal }),
    );
  }

  /** Reads the rows of one scope that events named, in the fewest requests. @throws LeaseLost, KeyRefused */
  async readHinted(
    { collection: name, parent }: Scope,
    { keys, known, ...bounds }: HintedRequest,
  ): Promise<HintedOutcome> {
    const found = collection(name);
    const { signal } = bounds;
    // A stopped reading has no error, and has read a part at best.
    const ofWhole = (outcome: ReadOutcome): HintedOutcome => ({
      outcome,
      walkNeeded: false,
      covers: () => outcome.error === undefined && !signal.aborted,
    });
    if (found.kind === 'single') return ofWhole(await this.read(name, { what: 'current', signal }));
    if (found.parent !== undefined) {
      const read = await this.#lists.readOne(found, parent, bounds);
      const confirmed = await this.#deleteProven(found, read.proven, { signal });
      return ofWhole(joinOutcomes(read.outcome, confirmed));
    }
    return this.#root.sessions.use(found, parent, (session) => {
      const { context, runs } = this.#root;
      const reading = { context, collection: found, session, onRead: runs.onPoll(name), ...bounds };
      return readHinted(name, reading, { keys, known }, (task) => this.#turns.run(name, 'poll', task));
    });
  }

  /** Whether a full walk of the collection is running. */
  isWalking(name: CollectionName): boolean {
    return this.#turns.isWalking(name);
  }

  /** Reads suspects again: see `DeletionConfirmer.confirmDue`. */
  async confirmDeletions(name: CollectionName, signal: AbortSignal): ReturnType<DeletionConfirmer['confirmDue']> {
    const found = collection(name);
    if (found.kind === 'single') return { ...EMPTY_OUTCOME, againMs: undefined };
    return this.#turns.run(name, 'suspects', () => this.#root.confirmer.confirmDue(found, signal));
  }

  /** Proves what readings found complete, so that it is stored. If the proof fails, the next one stores it. */
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

  async #readLists(lists: ListCollection, request: Parameters<ListsReader['read']>[1]): Promise<ReadOutcome> {
    const { name } = lists;
    const { what, dueOnly, until } = request;
    const read = await this.#lists.read(lists, request);
    const { since } = read;
    const confirmed =
      what === 'full'
        ? await this.#turns.run(name, 'suspects', () => {
            // It has the turn already: no other full walk of these lists comes between.
            const walkTurn = <T>(task: () => Promise<T>): Promise<T> => task();
            return this.#root.confirmer.finish(lists, read.whole, { ...request, patient: true, walkTurn });
          })
        : await this.#deleteProven(lists, read.proven, request);
    const outcome = joinOutcomes(read.outcome, confirmed);
    const { error } = outcome;
    if (dueOnly && read.count === 0) return { ...EMPTY_OUTCOME, error };
    await this.#context.store.saveLists(lists, (failing) => {
      // A list's failure stays until the list is read, even if this pass left the list out.
      const message = failing ?? (error === undefined ? undefined : failureMessage(error));
      return {
        ...(message === undefined ? CURRENT : { state: 'failing', failure: { message, at: since } }),
        // Lists that a change made due are read beside the cron line's runs, and serve none.
        ...(dueOnly ? {} : this.#root.runs.runsAfter(name, what, since, until)),
      };
    });
    return outcome;
  }

  /** Deletes the items that readings of lists proved gone: one proof of whose data it is serves all lists. */
  async #deleteProven(lists: ListCollection, proven: boolean, options: ConfirmOptions): Promise<ReadOutcome> {
    if (!proven) return EMPTY_OUTCOME;
    return this.#turns.run(lists.name, 'suspects', () => this.#root.confirmer.deleteProven(lists, options));
  }
}
