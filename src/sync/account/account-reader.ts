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
import type { FinishOptions, ConfirmOptions } from '../second-proofs/confirm-result.ts';
import type { WalkResult } from '../walk-run/walk-result.ts';
import { addTotals } from '../walk-run/walk-totals.ts';
import { whyNotProven } from '../reader/why-not-proven.ts';

export interface ReadRequest {
  /**
   * - `full`: every row; what is missing is read again after the settle time, and deleted
   * - `rows`: every row; what is missing is left in doubt
   * - `poll`: new rows and changes of unsettled rows, where a poll can tell them; else the outcome says `fullNeeded`
   * - `current`: the same, or `rows` where a poll can't
   */
  readonly what: 'full' | 'rows' | 'poll' | 'current';
  readonly signal: AbortSignal;
  /** Lifts the brake of deletions. */
  readonly accept?: boolean;
}

/** When a collection's walks are next promised. */
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
  /** One poll and one full walk of a collection at a time; a second request begins a new one after it. */
  readonly #turns = new Map<string, Mutex>();
  /** Collections of which a full walk is under way. */
  readonly #walking = new Set<CollectionName>();
  readonly #nextRuns: RunsAfter;
  readonly #longReadings: LongReadings;

  /** @param nextFirings when the collection's cron lines fire next after that moment, null for never: promised then */
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
    // A poll of one list is short; of many, and in place of a walk, it may not be.
    const short = found.kind === 'single' || (request.what === 'poll' && found.parent === undefined);
    const read = (): Promise<ReadOutcome> => this.#read(found, request);
    if (short) return read();
    return this.#longReadings.tell(
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

  /** Runs `task` with the scope's session, for what is written in its turn among the scope's pages and is no page. */
  withSession<T>(
    scope: Scope,
    found: ListCollection,
    task: (session: ScopeSession) => Promise<T>,
  ): Promise<T> {
    return this.#sessions.use(scope, found, task);
  }

  /** Reads those lists of the collection that a change made due. */
  async readDue(name: CollectionName, signal: AbortSignal): Promise<ReadOutcome> {
    const found = collection(name);
    if (found.kind !== 'list' || found.parent === undefined) return NOTHING;
    return this.#turn(`${name}/poll`, () =>
      this.#readLists(found, { what: 'poll', dueOnly: true, accept: false, signal }),
    );
  }

  /**
   * Reads what events named of one scope of the collection, in the fewest requests.
   * @throws LeaseLost, KeyRefused: the account can't go on
   */
  async readHinted(name: CollectionName, request: HintedRequest): Promise<HintedOutcome> {
    const found = collection(name);
    const { parent, hinted, signal, ...bounds } = request;
    // What was broken off has no error, and has read a part at best.
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
   * Reads rows again whose doubts are ripe: those that polls raised, and those that an earlier process left.
   * @returns when (ms from now) there will be more to do; undefined: not before new doubts come
   */
  async confirmDeletions(
    name: CollectionName,
    signal: AbortSignal,
  ): Promise<ReadOutcome & { readonly againMs: number | undefined }> {
    const found = collection(name);
    if (found.kind === 'single') return { ...NOTHING, againMs: undefined };
    return this.#turn(`${name}/doubts`, async () => ({
      ...NOTHING,
      ...(await this.#confirmer.confirmDue(found, { signal, accept: false })),
    }));
  }

  /** Has stored what readings found complete, as far as no proof has followed; where none comes, the next one does it. */
  async proveComplete(signal: AbortSignal): Promise<void> {
    if (this.#context.source.hasClaims) await whyNotProven(this.#context, signal);
  }

  /** How the collection stands: rows, deletions that are held or wait, as of when it is complete. */
  standingOf(name: CollectionName): Promise<Standing> {
    return this.#context.store.standingOf(name);
  }

  /** What a full reading that begins now makes complete is complete as of then at least. */
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
        // Of what was read before the call a poll brings what is new, and what may have changed.
        return both(walked, (await this.#turn(`${name}/poll`, poll)) ?? (await all()));
      };
      const whole = (): Promise<WalkResult> =>
        readWhole({ ...reading, onRest, onRead, priority: PRIORITY.FULL });
      // The wait for second proofs is outside the turn: where only full walks bring what is new, they go on meanwhile.
      const finish = (walked: WalkResult): Promise<ReadOutcome> =>
        this.#finish(found, walked, { signal, accept, patient: what === 'full' });
      if (what === 'full') return finish(await this.#fullTurn(name, whole));
      if (what === 'rows') return finish(await this.#fullTurn(name, rows));
      const polled = await this.#turn(`${name}/poll`, poll);
      if (polled !== undefined && session.everComplete) return readOutcomeOf(name, polled);
      if (what === 'poll') {
        if (polled === undefined) return { ...NOTHING, fullNeeded: true };
        // The first load is under way, or was broken off and has to go on.
        return { ...readOutcomeOf(name, polled), fullNeeded: !this.#walking.has(name) };
      }
      // A full walk may be under way: when it has ended, a poll may do.
      const read = await this.#fullTurn(name, async () => {
        const again = session.everComplete ? await this.#turn(`${name}/poll`, poll) : undefined;
        return again === undefined ? { walked: await rows() } : { again };
      });
      return 'walked' in read ? finish(read.walked) : readOutcomeOf(name, read.again);
    });
  }

  /** What a full reading does when it has read everything: the second proofs of what it did not see. */
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
    const confirmed = await this.#turn(`${name}/doubts`, () =>
      this.#confirmer.finish(found, open, { ...options, walkTurn }),
    );
    // What came into doubt meanwhile is the next one's.
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
        ? await this.#turn(`${name}/doubts`, () => {
            // Its own turn goes on: no other full walk of these lists comes between.
            const options: FinishOptions = { ...request, patient: true, walkTurn: (task) => task() };
            return this.#confirmer.finish(lists, read.whole, options);
          })
        : await this.#deleteProven(lists, read, request);
    const error = read.error ?? confirmed.error;
    await this.#context.store.saveLists(lists, (failing) => {
      // Each list's failure stands until it was read: what this pass did not read is told, too.
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

  /** Deletes what readings of lists proved gone: one proof of whose data they read serves them all. */
  async #deleteProven(
    lists: ListCollection,
    { proven }: Pick<ListsRead, 'proven'>,
    options: ConfirmOptions,
  ): Promise<Pick<ReadOutcome, 'error' | 'totals' | 'unproven'>> {
    if (!proven) return NOTHING;
    return this.#turn(`${lists.name}/doubts`, () => this.#confirmer.deleteProven(lists, options));
  }

  /** What lists that were read leave to be done. */
  #ensuing(
    lists: ListCollection,
    { suspects, suspected }: Pick<ListsRead, 'suspects' | 'suspected'>,
  ): Pick<ReadOutcome, 'suspects' | 'fullWalks'> {
    const { table } = parentsOf(lists);
    return {
      suspects: [...(suspects ? [lists.name] : []), ...(suspected === 'in-doubt' ? [table] : [])],
      fullWalks: suspected === 'full-needed' ? [table] : [],
    };
  }

  /** What `freshness` is to say when the collection was read well. */
  #onRead(name: CollectionName, what: 'poll' | 'full'): (asOf: Date, began: Date) => CollectionChange {
    return (asOf, began) => ({ polledAt: asOf, ...CURRENT, ...this.#runsAfter(name, what, began) });
  }

  /**
   * A full walk stays promised until one has ended that began then: a poll meanwhile must not put it off, nor one that
   * went on from before.
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
