import type { Clock } from '@research-mirror/runtime/clock';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { Mutex } from '@research-mirror/runtime/mutex';
import { KeyRefused, LeaseLost } from '../model/errors.ts';
import type {
  OperationName,
  QueuedSubmission,
  SubmissionOutcome,
  SubmissionStore,
} from '../model/submission.ts';
import { RATE_GROUPS, type RateGroup } from '../service/rate-groups.ts';
import { OPERATIONS, type SendingContext, sendSubmission, type SubmissionSource } from './send-submission.ts';

export interface SubmitterOptions {
  readonly source: SubmissionSource;
  readonly store: SubmissionStore;
  readonly clock: Clock;
  /** Why the account's credits let nothing be sent (MIRROR_CREDITS_FLOOR); undefined: they suffice. */
  readonly whyCreditsTooLow: () => Promise<string | undefined>;
  /** Writes into the queued rows why they wait; undefined: takes it out of those that say so. */
  readonly explainWait: (why: string | undefined) => Promise<void>;
  /** Monotonic moment until which this process may send for its accounts. */
  readonly ownsUntil: () => number;
  /** Rung when something is queued; the queue is read each minute anyway. */
  readonly bell: Doorbell;
  /** False: nothing is sent (MIRROR_SUBMIT=off). */
  readonly enabled: boolean;
  /** The longest time (ms) that a request may take. */
  readonly timeoutMs: number;
  readonly log: { info(line: string): void; warn(line: string): void };
  /** A submission has an outcome, which is stored; in state `queued` it will be tried again. */
  readonly onDone: (done: {
    readonly operation: OperationName;
    readonly state: SubmissionOutcome['state'];
  }) => void;
}

/** How often (ms) the queue is read without a ring: seldom, so that idle accounts cost little. */
const LOOK_MS = 60_000;
/** How often (ms) it looks for abandoned ones without knowing of any: a database that went back may have some. */
const LEFT_MS = 900_000;
/** Wait (ms) after the queue could not be read, or while nothing may be sent. */
const TROUBLE_MS = 1_000;
/** How often (ms) newly queued rows get the reason why they wait. */
const EXPLAIN_MS = 10_000;
/** Wait (ms) after one could not be claimed: it was cancelled or put on hold, and is soon out of the queue. */
const NOT_CLAIMED_MS = 250;

/**
 * The loop that sends an account's submissions. It ends only by throwing, when nothing is being sent any more: the
 * signal's reason; KeyRefused, when every key is refused; LeaseLost.
 */
export function submitter(options: SubmitterOptions): (signal: AbortSignal) => Promise<never> {
  return (signal) => new Submitter(options, signal).run();
}

class Submitter {
  readonly #options: SubmitterOptions;
  readonly #sending: SendingContext;
  readonly #allInFlight: ReadonlyMap<RateGroup, InFlight>;
  /** Ends the loop from within. */
  readonly #broken = new AbortController();
  readonly #stop: AbortSignal;
  readonly #underWay = new Set<Promise<void>>();
  /** Claimed here, their outcome not stored yet: `recover` must not make them unknown. */
  readonly #inHand = new Set<string>();
  /** Monotonic moments. */
  #recoverAt = Number.NEGATIVE_INFINITY;
  #explainAt = Number.NEGATIVE_INFINITY;
  /** The reason that this process wrote into queued rows; null: none yet, an earlier process may have written one. */
  #explained: string | undefined | null = null;
  /** Reasons already logged for why submissions wait: each is logged once until it is over. */
  readonly #logged = { queue: new Set<string>(), service: new Set<string>() };

  constructor(options: SubmitterOptions, signal: AbortSignal) {
    this.#options = options;
    this.#sending = { ...options, claiming: new Mutex() };
    this.#allInFlight = new Map(RATE_GROUPS.map((name) => [name, new InFlight(options.clock)]));
    this.#stop = AbortSignal.any([signal, this.#broken.signal]);
  }

  async run(): Promise<never> {
    try {
      for (;;) {
        this.#stop.throwIfAborted();
        const waitMs = await this.#look();
        await this.#options.bell.heardWithin(waitMs, this.#options.clock, this.#stop);
      }
    } catch (error) {
      this.#broken.abort(error);
      throw this.#stop.reason;
    } finally {
      await Promise.all(this.#underWay);
    }
  }

  /** Starts what may be started. @returns milliseconds until the next look without a ring */
  async #look(): Promise<number> {
    try {
      const recoverIn = await this.#recover();
      const startIn = this.#options.enabled ? await this.#startQueued() : LOOK_MS;
      // Without a heartbeat nothing was asked.
      if (this.#options.clock.monotonic() < this.#options.ownsUntil()) this.#logged.queue.clear();
      return Math.min(LOOK_MS, recoverIn, startIn);
    } catch (error) {
      if (this.#stop.aborted || isFinal(error)) throw error;
      this.#logQueueTrouble(error);
      return TROUBLE_MS;
    }
  }

  async #recover(): Promise<number> {
    const { store, clock, timeoutMs } = this.#options;
    const dueIn = this.#recoverAt - clock.monotonic();
    if (dueIn > 0) return dueIn;
    // `#leave` may bring the moment nearer while the statement runs.
    this.#recoverAt = Number.POSITIVE_INFINITY;
    try {
      const nextIn = (await store.recover(timeoutMs, [...this.#inHand])) ?? LEFT_MS;
      this.#recoverWithin(nextIn);
      return nextIn;
    } catch (error) {
      this.#recoverWithin(0);
      throw error;
    }
  }

  #recoverWithin(ms: number): void {
    this.#recoverAt = Math.min(this.#recoverAt, this.#options.clock.monotonic() + ms);
  }

  async #startQueued(): Promise<number> {
    const { store, clock, ownsUntil } = this.#options;
    if (clock.monotonic() >= ownsUntil()) return TROUBLE_MS;
    const allInFlight = [...this.#allInFlight.values()];
    const queued = await store.queued(Math.max(...allInFlight.map((inFlight) => inFlight.width)));
    if (queued.length > 0 && (await this.#waitsForCredits())) return LOOK_MS;
    for (const submission of queued) this.#start(submission);
    return Math.min(LOOK_MS, ...allInFlight.map((inFlight) => inFlight.pausedForMs).filter((ms) => ms > 0));
  }

  async #waitsForCredits(): Promise<boolean> {
    const { whyCreditsTooLow, explainWait, clock, log } = this.#options;
    const why = await whyCreditsTooLow();
    for (const inFlight of why === undefined ? [] : this.#allInFlight.values()) inFlight.pause(0);
    const before = this.#explained;
    const news = why !== before;
    // Rows that were queued meanwhile get the reason, too.
    if (news || (why !== undefined && clock.monotonic() >= this.#explainAt)) {
      await explainWait(why);
      this.#explained = why;
      this.#explainAt = clock.monotonic() + EXPLAIN_MS;
    }
    if (news && why !== undefined) log.info(`submissions: ${why}`);
    if (news && why === undefined && before !== null) log.info('submissions go on: there are credits again');
    return why !== undefined;
  }

  #start(submission: QueuedSubmission): void {
    const inFlight = this.#allInFlight.get(OPERATIONS[submission.operation].group);
    if (inFlight === undefined || inFlight.has(submission.id) || !inFlight.hasRoom) return;
    const wait = inFlight.add(submission.id);
    const sending = this.#send(inFlight, submission, wait)
      .catch((error: unknown) => this.#failed(inFlight, error))
      .finally(() => {
        inFlight.ended(submission.id);
        this.#inHand.delete(submission.id);
        this.#underWay.delete(sending);
        this.#options.bell.ring();
      });
    this.#underWay.add(sending);
  }

  async #send(inFlight: InFlight, submission: QueuedSubmission, wait: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([this.#stop, wait]);
    const onClaim = (): void => {
      inFlight.claimed(submission.id);
      this.#inHand.add(submission.id);
    };
    const sent = await sendSubmission(this.#sending, submission, stop, onClaim, inFlight.waitMs);
    if (sent.kind === 'left') {
      this.#leave(submission.id);
      if (!this.#stop.aborted) this.#logOnce('service', messageOf(sent.error));
      return;
    }
    if (sent.kind === 'not-claimed') {
      inFlight.pause(NOT_CLAIMED_MS);
      return;
    }
    const { kind, outcome } = sent;
    const waitMs = outcome.state === 'queued' ? outcome.retryInMs : 0;
    // While the service is in trouble, each attempt may end unknown: only one tries, with longer and longer waits.
    if (kind === 'unsent' || outcome.state === 'unknown') inFlight.failed(Math.max(waitMs, inFlight.waitMs));
    else inFlight.answered();
    this.#report(submission, outcome);
    await this.#finish(submission.id, outcome);
    // Back in the queue, it must not be tried before the wait is over, which the store counts from now.
    if (waitMs > 0) inFlight.pause(waitMs);
    this.#options.onDone({ operation: submission.operation, state: outcome.state });
  }

  /** Stores an outcome, as often as it takes while the database is away: it is known nowhere else. */
  async #finish(id: string, outcome: SubmissionOutcome): Promise<void> {
    const { store, clock } = this.#options;
    for (;;) {
      try {
        await store.finish(id, outcome);
        return;
      } catch (error) {
        const why = error instanceof DatabaseUnavailable ? 'the database is away' : messageOf(error);
        this.#logOnce('queue', `the outcome of ${id} (${outcome.state}) is not stored yet: ${why}`);
        if (isFinal(error)) throw error;
        // This error may never go away.
        if (!(error instanceof DatabaseUnavailable)) this.#leave(id);
        await clock.sleep(TROUBLE_MS, this.#stop);
      }
    }
  }

  /** Gives up knowing its outcome: it will be recovered as unknown. */
  #leave(id: string): void {
    this.#inHand.delete(id);
    this.#recoverWithin(0);
  }

  /** It was not claimed, or its outcome can't be stored any more. */
  #failed(inFlight: InFlight, error: unknown): void {
    if (this.#stop.aborted || error instanceof BackInQueue) return;
    if (isFinal(error)) {
      this.#broken.abort(error);
      return;
    }
    this.#logQueueTrouble(error);
    inFlight.failed(inFlight.waitMs);
  }

  #report({ id, operation }: QueuedSubmission, outcome: SubmissionOutcome): void {
    if (outcome.state === 'queued') this.#logOnce('service', outcome.error);
    if (outcome.state === 'accepted') this.#logged.service.clear();
    if (outcome.state === 'rejected' || outcome.state === 'unknown') {
      const error = outcome.error ?? `answered ${outcome.status}`;
      this.#options.log.warn(`submission ${id} (${operation}) is ${outcome.state}: ${error}`);
    }
  }

  /** Where the database is away, the heartbeat warns. */
  #logQueueTrouble(error: unknown): void {
    if (!(error instanceof DatabaseUnavailable)) this.#logOnce('queue', messageOf(error));
  }

  #logOnce(where: 'queue' | 'service', trouble: string): void {
    if (!this.#logged[where].has(trouble)) this.#options.log.warn(`submissions wait: ${trouble}`);
    this.#logged[where].add(trouble);
  }
}

/** Nothing more can be sent for the account: its loops end. */
function isFinal(error: unknown): boolean {
  return error instanceof KeyRefused || error instanceof LeaseLost;
}

/** First and longest wait (ms) after an attempt in which nothing was sent; it doubles in between. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/**
 * Most submissions of a group that wait for a slot or are in flight at once: each is written twice in Postgres, and a
 * claim that waits behind too many others comes too late to be sent.
 */
const WIDEST = 32;

/**
 * The submissions of one rate group that wait for a slot or are being sent. They are sent in the order in which they
 * were queued: when one has to go back into the queue, those behind it that still wait go back, too.
 */
export class InFlight {
  readonly #clock: Clock;
  /** By submission: the controller that ends its wait; undefined once it is claimed. */
  readonly #active = new Map<string, AbortController | undefined>();
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Most submissions in flight at once: while nothing can be sent, only one tries. */
  get width(): number {
    return this.#failures > 0 ? 1 : WIDEST;
  }

  /** Whether another may be started now. */
  get hasRoom(): boolean {
    return this.pausedForMs === 0 && this.#active.size < this.width;
  }

  get pausedForMs(): number {
    return Math.max(0, this.#pausedUntil - this.#clock.monotonic());
  }

  /** How long (ms) to wait if the next one can't be sent. */
  get waitMs(): number {
    return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures);
  }

  has(id: string): boolean {
    return this.#active.has(id);
  }

  /** @returns the signal that ends its wait */
  add(id: string): AbortSignal {
    const wait = new AbortController();
    this.#active.set(id, wait);
    return wait.signal;
  }

  /** A pause does not interrupt it from now on. */
  claimed(id: string): void {
    this.#active.set(id, undefined);
  }

  ended(id: string): void {
    this.#active.delete(id);
  }

  /** Starts nothing for `ms`; what waits for a slot goes back into the queue. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + ms);
    for (const wait of this.#active.values()) wait?.abort(new BackInQueue());
  }

  /** Pauses because nothing could be sent, or nobody knows; the next wait is longer. Several at once count as one. */
  failed(ms: number): void {
    if (this.pausedForMs === 0) this.#failures += 1;
    this.pause(ms);
  }

  /** The service answered, and is not in trouble. */
  answered(): void {
    this.#failures = 0;
  }
}

/** Why a wait for a slot ended: the submission is in the queue, and will be fetched again. */
export class BackInQueue extends Error {
  override readonly name = 'BackInQueue';
  constructor() {
    super('back in the queue');
  }
}
