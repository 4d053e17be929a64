import { PRIORITY } from '../../budget/priorities.ts';
import type { CollectionChange } from '../../mirror/scope/walk-end.ts';
import {
  type Collection,
  collection,
  type CollectionName,
  type ListCollection,
  parentsOf,
  type Scope,
} from '../../model/collections.ts';
import { KeyRefused } from '../../model/errors.ts';
import { Mutex } from '@research-mirror/runtime/mutex';
import { messageOf } from '@research-mirror/runtime/message';
import type { Standing } from '../reader/account-store.ts';
import { LongReadings } from './long-readings.ts';
import { type HintedOutcome, type HintedRequest, readHinted } from './read-hinted.ts';
import { type ListsRead, ListsReader, type ListsRequest } from './read-lists.ts';
import { both, interruptedWalk, pollScope, readAll } from '../walk-run/read-scope.ts';
import { readWhole } from '../walk-run/read-whole.ts';
import { NOTHING, readOutcomeOf, type ReadOutcome } from './read-outcome.ts';
import { readSingle } from './read-single.ts';
import type { ReadingContext } from '../reader/reading-context.ts';
import type { ScopeSession } from '../scope/scope-session.ts';
import { SessionPool } from '../scope/session-pool.ts';
import { DeletionConfirmer } from '../second-proofs/deletion-confirmer.ts';
import type { FinishOptions, ConfirmOptions } from '../second-proofs/second-readings.ts';
import type { WalkResult } from '../walk-run/walk-result.ts';
import { addTotals } from '../walk-run/walk-totals.ts';
import { whyNotProven } from '../reader/account-source.ts';

export interface ReadRequest {
  /**
   * - `full`: every row; missing rows are read again after the grace period, and deleted
   * - `rows`: every row; missing rows stay suspected
   * - `poll`: new rows and changes of unfinished rows; `fullNeeded` where a poll can't find them
   * - `current`: as `poll`, or as `rows` where a poll can't find them
   */
  readonly what: 'full' | 'rows' | 'poll' | 'current';
  readonly signal: AbortSignal;
  /** Lifts the brake of deletions. */
  readonly accept?: boolean;
}

/** When a collection is to be polled and walked next, after `after`. */
type RunsAfter = (
  name: CollectionName,
  after: Date,
) => Required<Pick<CollectionChange, 'nextPollAt' | 'nextFullAt'>>;

const CURRENT = { state: 'current', failure: null } satisfies CollectionChange;

/** Reads the collections of one account, for the daemon's schedule and for `sync` alike. */
export class AccountReader {
  readonly #context: ReadingContext;
  readonly #sessions: SessionPool;
  readonly #confirmer: DeletionConfirmer;
  readonly #lists: ListsReader;
  /** One poll and one full walk of a collection at a time: a second request waits, and begins its own. */
  readonly #turns = new Map<string, Mutex>();
  /** Collections with a full walk under way. */
  readonly #walking = new Set<CollectionName>();
  readonly #nextRuns: RunsAfter;
  readonly #longReadings: LongReadings;

  constructor(context: ReadingContext, nextRuns: RunsAfter) {
    this.#context = context;
    this.#sessions = new SessionPool(context.store);
    this.#confirmer = new DeletionConfirmer(context, this.#sessions);
    this.#lists = new ListsReader(context, this.#sessions, this.#confirmer);
    this.#nextRuns = nextRuns;
    this.#longReadings = new LongReadings(context);
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
    if (short) return read();
    return this.#longReadings.during(
      name,
      { atOnce: request.what === 'full' || request.what === 'rows' },
      read,
    );
  }

  async #read(found: Collection, { what, signal, accept = false }: ReadRequest): Promise<ReadOutcome> {
    const { name } = found;
    if (found.kind === 'single') {
      return this.#turn(name, async () => {
        const { error, totals } = await readSingle(this.#context, found, this.#onRead(name, 'full'), signal);
        if (error instanceof KeyRefused) throw error;
        return { ...NOTHING, error, totals };
      });
    }
    if (found.parent !== undefined) {
      const each = what === 'full' ? 'full' : 'poll';
      return this.#turn(`${name}/${each}`, () =>
        this.#readLists(found, { what: each, dueOnly: false, accept, signal }),
      );
    }
    return this.#readRoot(found, { what, signal, accept });
  }

  /** Runs `task` with the scope's session: it may write between the scope's pages, in turn with them. */
  withSession<T>(
    scope: Scope,
    found: ListCollection,
    task: (session: ScopeSession) => Promise<T>,
  ): Promise<T> {
    return this.#sessions.use(scope, found, task);
  }

  /** Reads the collection's lists that a change made due. */
  async readDue(name: CollectionName, signal: AbortSignal): Promise<ReadOutcome> {
    const found = collection(name);
    if (found.kind !== 'list' || found.parent === undefined) return NOTHING;
    return this.#turn(`${name}/poll`, () =>
      this.#readLists(found, { what: 'poll', dueOnly: true, accept: false, signal }),
    );
  }

  /**
   * Reads the rows of one scope that events named, in the fewest requests.
   * @throws LeaseLost, KeyRefused: the account can't go on
   */
  async readHinted(name: CollectionName, request: HintedRequest): Promise<HintedOutcome> {
    const found = collection(name);
    const { parent, hinted, signal, ...bounds } = request;
    // A stopped reading has no error, and has read a part at best.
    const isWholly = ({ error }: ReadOutcome): boolean => error === undefined && !signal.aborted;
    if (found.kind === 'single') {
      const outcome = await this.read(name, { what: 'current', signal });
      return { outcome, walkNeeded: false, covers: () => isWholly(outcome) };
    }
    if (found.parent !== undefined) {
      const read = await this.#lists.readOne(found, parent, { priority: bounds.priority, signal });
      const confirmed = await this.#deleteProven(found, read, { signal, accept: false });
      const error = read.error ?? confirmed.error;
      const totals = addTotals(read.totals, confirmed.totals);
      const outcome = { ...NOTHING, error, totals, ...this.#ensuing(found, read) };
      return { outcome, walkNeeded: false, covers: () => isWholly(outcome) };
    }
    const scope: Scope = { userId: this.userId, collection: name, parent };
    return this.#sessions.use(scope, found, async (session) => {
      const onRead = this.#onRead(name, 'poll');
      const reading = { context: this.#context, collection: found, session, signal, onRead, ...bounds };
      const read = await readHinted(reading, hinted, (task) => this.#turn(`${name}/poll`, task));
      const { result, covers } = read;
      return { outcome: readOutcomeOf(name, result), walkNeeded: result.outcome === 'full-needed', covers };
    });
  }

  /** A full walk of the collection is under way. */
  isWalking(name: CollectionName): boolean {
    return this.#walking.has(name);
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
    return this.#turn(`${name}/suspects`, async () => ({
      ...NOTHING,
      ...(await this.#confirmer.confirmDue(found, { signal, accept: false })),
    }));
  }

  /** Proves what readings found complete, so that it is stored. Where the proof fails, the next one stores it. */
  async proveComplete(signal: AbortSignal): Promise<void> {
    if (this.#context.source.hasClaims) await whyNotProven(this.#context, signal);
  }

  /** The collection's rows, its blocked and suspected deletions, and as of when it is complete. */
  standingOf(name: CollectionName): Promise<Standing> {
    return this.#context.store.standingOf(name);
  }

  /** A full reading that begins now makes its collection complete as of then or later. */
  completeFromNow(): Date {
    return new Date(this.#context.clock.now() - this.#context.gracePeriodMs);
  }

  #readRoot(found: ListCollection, { what, signal, accept }: Required<ReadRequest>): Promise<ReadOutcome> {
    const { name } = found;
    const scope: Scope = { userId: this.userId, collection: name, parent: '' };
    return this.#sessions.use(scope, found, async (session) => {
      const reading = { context: this.#context, collection: found, session, signal, accept };
      const [onRest, onRead] = [this.#onRead(name, 'poll'), this.#onRead(name, 'full')];
      const all = (): Promise<WalkResult> =>
        readAll({
          ...reading,
          onRead: interruptedWalk(session, this.#context.clock.now()) === undefined ? onRead : onRest,
          priority: PRIORITY.FULL,
        });
      // While a first load goes on, polls bring what is new.
      const poll = async (): Promise<WalkResult | undefined> => {
        if (!session.everComplete && session.memory.frontier === null) return undefined;
        const polled = await pollScope({ ...reading, onRead: onRest, priority: PRIORITY.POLL });
        return polled.outcome === 'full-needed' ? undefined : polled;
      };
      const rows = async (): Promise<WalkResult> => {
        const resumes = session.fullWalk !== undefined;
        const walked = await all();
        if (!resumes || walked.outcome !== 'complete') return walked;
        // A part was read before the call: a poll brings what is new there, and what may have changed.
        return both(walked, (await this.#turn(`${name}/poll`, poll)) ?? (await all()));
      };
      const whole = (): Promise<WalkResult> =>
        readWhole({ ...reading, onRest, onRead, priority: PRIORITY.FULL });
      // The wait for second proofs is outside the turn: other full walks may go on meanwhile.
      const finish = (walked: WalkResult): Promise<ReadOutcome> =>
        this.#finish(found, walked, { signal, accept, patient: what === 'full' });
      if (what === 'full') return finish(await this.#fullTurn(name, whole));
      if (what === 'rows') return finish(await this.#fullTurn(name, rows));
      const polled = await this.#turn(`${name}/poll`, poll);
      if (polled !== undefined && session.everComplete) return readOutcomeOf(name, polled);
      if (what === 'poll') {
        if (polled === undefined) return { ...NOTHING, fullNeeded: true };
        // The first load is under way, or has to go on.
        return { ...readOutcomeOf(name, polled), fullNeeded: !this.#walking.has(name) };
      }
      // After a full walk that is under way, a poll may do.
      const read = await this.#fullTurn(name, async () => {
        const again = session.everComplete ? await this.#turn(`${name}/poll`, poll) : undefined;
        return again === undefined ? { walked: await rows() } : { again };
      });
      return 'walked' in read ? finish(read.walked) : readOutcomeOf(name, read.again);
    });
  }

  /** After everything is read: second proofs of the rows that were not seen. */
  async #finish(
    found: ListCollection,
    walked: WalkResult,
    options: Omit<FinishOptions, 'walkTurn'>,
  ): Promise<ReadOutcome> {
    const { name } = found;
    const walkTurn: FinishOptions['walkTurn'] = (task) => this.#fullTurn(name, task);
    const outcome = readOutcomeOf(name, walked);
    const { whole } = walked;
    if (outcome.error !== undefined || whole === undefined) return outcome;
    const open = new Map(whole.complete ? [] : [['', whole] as const]);
    const confirmed = await this.#turn(`${name}/suspects`, () =>
      this.#confirmer.finish(found, open, { ...options, walkTurn }),
    );
    // Rows that were suspected meanwhile are the next reading's.
    return {
      ...NOTHING,
      ...confirmed,
      totals: addTotals(walked.totals, confirmed.totals),
      suspects: [name],
    };
  }

  async #readLists(lists: ListCollection, request: ListsRequest): Promise<ReadOutcome> {
    const { name } = lists;
    const read = await this.#lists.read(lists, request);
    const confirmed =
      request.what === 'full'
        ? await this.#turn(`${name}/suspects`, () => {
            // It has the turn already: no other full walk of these lists comes between.
            const options: FinishOptions = { ...request, patient: true, walkTurn: (task) => task() };
            return this.#confirmer.finish(lists, read.whole, options);
          })
        : await this.#deleteProven(lists, read, request);
    const error = read.error ?? confirmed.error;
    await this.#context.store.saveLists(lists, (failing) => {
      // A list's failure stays until the list is read, also one that this pass left out.
      const message = failing ?? (error === undefined ? undefined : messageOf(error));
      return {
        ...(message === undefined ? CURRENT : { state: 'failing', failure: { message, at: read.since } }),
        ...this.#runsAfter(name, request.what, read.since),
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
  ): Promise<Pick<ReadOutcome, 'error' | 'totals' | 'unproven'>> {
    if (!proven) return NOTHING;
    return this.#turn(`${lists.name}/suspects`, () => this.#confirmer.deleteProven(lists, options));
  }

  /** What is to be done after lists were read. */
  #ensuing(
    lists: ListCollection,
    { suspects, suspected }: Pick<ListsRead, 'suspects' | 'suspected'>,
  ): Pick<ReadOutcome, 'suspects' | 'fullWalks'> {
    const { table } = parentsOf(lists);
    return {
      suspects: [...(suspects ? [lists.name] : []), ...(suspected === 'some' ? [table] : [])],
      fullWalks: suspected === 'full-needed' ? [table] : [],
    };
  }

  /** What `freshness` says once the collection was read. */
  #onRead(name: CollectionName, what: 'poll' | 'full'): (asOf: Date, began: Date) => CollectionChange {
    return (asOf, began) => ({ polledAt: asOf, ...CURRENT, ...this.#runsAfter(name, what, began) });
  }

  /**
   * A full walk stays due until one has ended that began after it was due: a poll does not put it off, nor does a
   * walk that went on from before.
   */
  #runsAfter(name: CollectionName, what: 'poll' | 'full', begun: Date): CollectionChange {
    const ended = new Date(this.#context.clock.now());
    const { nextPollAt, nextFullAt } = this.#nextRuns(name, ended);
    const keeps = { begun, ended };
    return what === 'poll' ? { nextPollAt, keeps } : { nextPollAt, nextFullAt, keeps };
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
