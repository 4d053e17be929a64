import type { Clock } from '@research-mirror/runtime/clock';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { Mutex } from '@research-mirror/runtime/mutex';
import { KeyRefused, LeaseLost } from '../model/errors.ts';
import type { QueuedSubmission, SubmissionOutcome, SubmissionStore } from '../model/submission.ts';
import { RATE_GROUPS, type RateGroup } from '../service/rate-groups.ts';
import { OPERATIONS, type SendingContext, sendSubmission } from './send-submission.ts';

export interface SubmitterOptions extends Omit<SendingContext, 'claiming'> {
  readonly store: SubmissionStore;
  /** Why the account's credits let nothing be sent (MIRROR_CREDITS_FLOOR); undefined: they suffice. */
  readonly whyCreditsTooLow: () => Promise<string | undefined>;
  /** Writes into the queued rows why they wait; undefined clears that. */
  readonly explainWait: (why: string | undefined) => Promise<void>;
  /** Rung when something is queued; the queue is read each minute anyway. */
  readonly bell: Doorbell;
  /** False: nothing is sent (MIRROR_SUBMIT=off). */
  readonly enabled: boolean;
  readonly log: { info(line: string): void; warn(line: string): void };
  /** Called when an outcome is stored; one in state `queued` will be tried again. */
  readonly onDone: (done: Pick<QueuedSubmission, 'operation'> & Pick<SubmissionOutcome, 'state'>) => void;
}

/** How often (ms) the queue is read without a ring: seldom, so that idle accounts cost little. */
const LOOK_MS = 60_000;
/** How often (ms) it looks for unknown abandoned submissions: a database that went back may have some. */
const RECOVER_MS = 900_000;
/** Wait (ms) after the queue could not be read, or while nothing may be sent. */
const TROUBLE_MS = 1_000;
/** How often (ms) newly queued rows get the reason why they wait. */
const EXPLAIN_MS = 10_000;
/** Wait (ms) after a refused claim: the submission was cancelled or put on hold, and is soon out of the queue. */
const NOT_CLAIMED_MS = 250;

/**
 * The loop that sends an account's submissions. It ends only by throwing, after all sending has ended: the signal's
 * reason; KeyRefused when every key is refused; LeaseLost.
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
  /** Claimed here, with no stored outcome yet: `recover` must not make them unknown. */
  readonly #inHand = new Set<string>();
  /** Monotonic moments. */
  #recoverAt = -Infinity;
  #explainAt = -Infinity;
  /** The reason in queued rows; null: this process has not written one, an earlier process may have. */
  #explained: string | undefined | null = null;
  /** Logged reasons why submissions wait: each is logged once until it is over. */
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

  /** Starts the submissions that may be sent. @returns ms until the next look without a ring */
  async #look(): Promise<number> {
    try {
      const recoverIn = await this.#recover();
      const startIn = this.#options.enabled ? await this.#startQueued() : LOOK_MS;
      // Without a heartbeat the queue was not read.
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
    this.#recoverAt = Infinity;
    let nextIn = 0;
    try {
      nextIn = (await store.recover(timeoutMs, [...this.#inHand])) ?? RECOVER_MS;
      return nextIn;
    } finally {
      this.#recoverWithin(nextIn);
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
    // Newly queued rows get the reason, too.
    if (news || (why !== undefined && clock.monotonic() >= this.#explainAt)) {
      await explainWait(why);
      this.#explained = why;
      this.#explainAt = clock.monotonic() + EXPLAIN_MS;
    }
    if (news && why !== undefined) log.info(`submissions: ${why}`);
    if (news && why === undefined && before !== null)
      log.info('submissions continue: the account has enough credits again');
    return why !== undefined;
  }

  #start(submission: QueuedSubmission): void {
    const inFlight = this.#allInFlight.get(OPERATIONS[submission.operation].group);
    const { id } = submission;
    if (inFlight === undefined || inFlight.has(id) || !inFlight.hasRoom) return;
    const sending = this.#send(inFlight, submission, inFlight.add(id))
      .catch((error: unknown) => this.#failed(inFlight, error))
      .finally(() => {
        inFlight.ended(id);
        this.#inHand.delete(id);
        this.#underWay.delete(sending);
        this.#options.bell.ring();
      });
    this.#underWay.add(sending);
  }

  async #send(inFlight: InFlight, submission: QueuedSubmission, wait: AbortSignal): Promise<void> {
    const { id, operation } = submission;
    const stop = AbortSignal.any([this.#stop, wait]);
    const onClaim = (): void => {
      inFlight.claimed(id);
      this.#inHand.add(id);
    };
    const result = await sendSubmission(this.#sending, submission, stop, onClaim, inFlight.waitMs);
    if (result.kind === 'not-claimed') return inFlight.pause(NOT_CLAIMED_MS);
    if (result.kind === 'left') {
      this.#leave(id);
      if (!this.#stop.aborted) this.#logOnce('service', messageOf(result.error));
      return;
    }
    const { kind, outcome } = result;
    const waitMs = outcome.state === 'queued' ? outcome.retryInMs : 0;
    // While the service is in trouble, each attempt may end unknown: one tries at a time, with longer and longer waits.
    if (kind === 'unsent' || outcome.state === 'unknown') inFlight.failed(Math.max(waitMs, inFlight.waitMs));
    else inFlight.answered();
    if (outcome.state === 'queued') this.#logOnce('service', outcome.error);
    else if (outcome.state === 'accepted') this.#logged.service.clear();
    else {
      const error = outcome.error ?? `POST returned ${outcome.status}`;
      this.#options.log.warn(`submission ${id} (${operation}) is ${outcome.state}: ${error}`);
    }
    await this.#finish(id, outcome);
    // It must not be tried before the wait is over, which the store counts from now.
    if (waitMs > 0) inFlight.pause(waitMs);
    this.#options.onDone({ operation, state: outcome.state });
  }

  /** Stores an outcome; repeats that while the database is away, since the outcome is known nowhere else. */
  async #finish(id: string, outcome: SubmissionOutcome): Promise<void> {
    const { store, clock } = this.#options;
    for (;;) {
      try {
        await store.finish(id, outcome);
        return;
      } catch (error) {
        const why = error instanceof DatabaseUnavailable ? 'the database can’t be reached' : messageOf(error);
        this.#logOnce('queue', `the outcome of ${id} (${outcome.state}) is not stored yet: ${why}`);
        if (isFinal(error)) throw error;
        // This error may never go away.
        if (!(error instanceof DatabaseUnavailable)) this.#leave(id);
        await clock.sleep(TROUBLE_MS, this.#stop);
      }
    }
  }

  /** Gives up on its outcome: `recover` will make it unknown. */
  #leave(id: string): void {
    this.#inHand.delete(id);
    this.#recoverWithin(0);
  }

  /** The submission was not claimed, or its outcome can't be stored any more. */
  #failed(inFlight: InFlight, error: unknown): void {
    if (this.#stop.aborted || error instanceof BackInQueue) return;
    if (isFinal(error)) return this.#broken.abort(error);
    this.#logQueueTrouble(error);
    inFlight.failed(inFlight.waitMs);
  }

  /** If the database is away, the heartbeat warns. */
  #logQueueTrouble(error: unknown): void {
    if (!(error instanceof DatabaseUnavailable)) this.#logOnce('queue', messageOf(error));
  }

  #logOnce(where: 'queue' | 'service', trouble: string): void {
    if (!this.#logged[where].has(trouble)) this.#options.log.warn(`submissions wait: ${trouble}`);
    this.#logged[where].add(trouble);
  }
}

/** Whether nothing more can be sent for the account: its loops end. */
function isFinal(error: unknown): boolean {
  return error instanceof KeyRefused || error instanceof LeaseLost;
}

/** First and longest wait (ms) after an attempt that sent nothing; the wait doubles. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/**
 * Most submissions of a group that wait for a slot or are in flight at once: each is written twice in Postgres, and a
 * claim that waits behind too many others comes too late.
 */
const WIDEST = 32;

/**
 * The submissions of one rate group that wait for a slot or are being sent. They go in the order of the queue: when one
 * goes back into the queue, those behind it that still wait go back, too.
 */
export class InFlight {
  readonly #clock: Clock;
  /** By submission: the controller that ends its wait; undefined once it is claimed. */
  readonly #active = new Map<string, AbortController | undefined>();
  #pausedUntil = -Infinity;
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

  /** Starts nothing for `ms`; those that wait for a slot go back into the queue. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + ms);
    for (const wait of this.#active.values()) wait?.abort(new BackInQueue());
  }

  /** Pauses after an attempt that sent nothing, or may have. The next wait is longer; several at once count as one. */
  failed(ms: number): void {
    if (this.pausedForMs === 0) this.#failures += 1;
    this.pause(ms);
  }

  /** The service answered, and is not in trouble. */
  answered(): void {
    this.#failures = 0;
  }
}

/** Ends a wait for a slot: the submission is in the queue, and will be fetched again. */
export class BackInQueue extends Error {
  override readonly name = 'BackInQueue';
  constructor() {
    super('back in the queue');
  }
}
