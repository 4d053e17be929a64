import { RATE_GROUPS, type RateGroup } from '../budget/rate-groups.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { KeyRefused, LeaseLost } from '../model/errors.ts';
import type {
  OperationName,
  SubmissionOutcome,
  QueuedSubmission,
  SubmissionStore,
} from '../model/submission.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import { Mutex } from '@research-mirror/runtime/mutex';
import { messageOf } from '@research-mirror/runtime/message';
import { BackInQueue, InFlight } from './in-flight.ts';
import { OPERATIONS } from './operations.ts';
import { type SendingContext, sendSubmission, type SubmissionSource } from './send-submission.ts';

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
  /** Rung when something is queued. It is looked for each minute anyway. */
  readonly bell: Doorbell;
  /** False: nothing is sent (MIRROR_SUBMIT=off). */
  readonly enabled: boolean;
  /** The longest that a request may take, milliseconds. */
  readonly timeoutMs: number;
  readonly log: { info(line: string): void; warn(line: string): void };
  /** A submission has an outcome, which is stored; `queued` ones will be tried again. */
  readonly onDone: (done: {
    readonly operation: OperationName;
    readonly state: SubmissionOutcome['state'];
  }) => void;
}

/** Milliseconds between two looks into the queue, where nothing rings: idle accounts cost next to nothing. */
const LOOK_MS = 60_000;
/** Between two looks for what was left behind, where nothing is known of any: a database that went back may have some. */
const LEFT_MS = 900_000;
/** Before the queue is looked at again where it could not be read, or where nothing may be sent just now. */
const TROUBLE_MS = 1_000;
/** Between two times that new rows are told why they wait. */
const EXPLAIN_MS = 10_000;
/** What was not claimed is cancelled or held: it will not be in the queue any more. */
const NOT_CLAIMED_MS = 250;

/**
 * The loop that sends an account's submissions. It ends by throwing: the signal's reason, with nothing under way any
 * more; KeyRefused when every key is; LeaseLost.
 */
export function submitter(options: SubmitterOptions): (signal: AbortSignal) => Promise<never> {
  return (signal) => new Submitter(options, signal).run();
}

class Submitter {
  readonly #options: SubmitterOptions;
  readonly #sending: SendingContext;
  readonly #allInFlight: ReadonlyMap<RateGroup, InFlight>;
  /** Ends all of it from within. */
  readonly #broken = new AbortController();
  readonly #stop: AbortSignal;
  readonly #underWay = new Set<Promise<void>>();
  /** Claimed here, and not stored yet: whoever makes unknown what was left behind leaves these alone. */
  readonly #inHand = new Set<string>();
  #wake = new AbortController();
  /** Monotonic moments. */
  #recoverAt = Number.NEGATIVE_INFINITY;
  #explainAt = Number.NEGATIVE_INFINITY;
  /** What queued rows say, as far as this process told them; null: an earlier one may have left anything there. */
  #explained: string | undefined | null = null;
  /** What was said of why submissions wait, until that is over: it is not said again and again. */
  readonly #said = { queue: new Set<string>(), service: new Set<string>() };

  constructor(options: SubmitterOptions, signal: AbortSignal) {
    this.#options = options;
    this.#sending = { ...options, claiming: new Mutex() };
    const { clock, source } = options;
    this.#allInFlight = new Map(
      RATE_GROUPS.map((name) => [name, new InFlight(clock, () => source.sizeOf(name))]),
    );
    this.#stop = AbortSignal.any([signal, this.#broken.signal]);
  }

  async run(): Promise<never> {
    try {
      for (;;) {
        this.#stop.throwIfAborted();
        this.#wakeIn(await this.#look());
        await this.#options.bell.heard(this.#stop);
      }
    } catch (error) {
      this.#broken.abort(error);
      throw this.#stop.reason;
    } finally {
      this.#wake.abort();
      await Promise.all(this.#underWay);
    }
  }

  /** Starts what may be started. @returns milliseconds until something changes without a ring */
  async #look(): Promise<number> {
    try {
      const recoverIn = await this.#recover();
      const startIn = this.#options.enabled ? await this.#startQueued() : LOOK_MS;
      this.#said.queue.clear();
      return Math.min(LOOK_MS, recoverIn, startIn);
    } catch (error) {
      if (this.#stop.aborted || isFinal(error)) throw error;
      this.#say('queue', messageOf(error));
      return TROUBLE_MS;
    }
  }

  async #recover(): Promise<number> {
    const { store, clock, timeoutMs } = this.#options;
    const dueIn = this.#recoverAt - clock.monotonic();
    if (dueIn > 0) return dueIn;
    // What is left from here on brings the moment nearer again.
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
    // Rows that were queued meanwhile are told, too.
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
      if (!this.#stop.aborted) this.#say('service', messageOf(sent.error));
      return;
    }
    if (sent.kind === 'not-claimed') {
      inFlight.pause(NOT_CLAIMED_MS);
      return;
    }
    const { kind, outcome } = sent;
    const waitMs = outcome.state === 'queued' ? outcome.retryInMs : 0;
    // Where the service is in trouble, each further attempt would end unknown: one alone tries, later and later.
    if (kind === 'unsent' || outcome.state === 'unknown') inFlight.failed(Math.max(waitMs, inFlight.waitMs));
    else inFlight.answered();
    this.#tell(submission, outcome);
    await this.#finish(submission.id, outcome);
    // It is in the queue again, but may not be tried before the wait, which the store counts from here.
    if (waitMs > 0) inFlight.pause(waitMs);
    this.#options.onDone({ operation: submission.operation, state: outcome.state });
  }

  /** Stores an outcome, again and again where the database is away: it is known nowhere else. */
  async #finish(id: string, outcome: SubmissionOutcome): Promise<void> {
    const { store, clock } = this.#options;
    for (;;) {
      try {
        await store.finish(id, outcome);
        return;
      } catch (error) {
        this.#say('queue', `the outcome of ${id} (${outcome.state}) is not stored yet: ${messageOf(error)}`);
        if (isFinal(error)) throw error;
        // It may never be stored.
        if (!(error instanceof DatabaseUnavailable)) this.#leave(id);
        await clock.sleep(TROUBLE_MS, this.#stop);
      }
    }
  }

  /** Its outcome is not in hand any more: in the end people are told that it is unknown. */
  #leave(id: string): void {
    this.#inHand.delete(id);
    this.#recoverWithin(0);
  }

  /** Nothing of it was claimed, or its outcome can't be stored any more. */
  #failed(inFlight: InFlight, error: unknown): void {
    if (this.#stop.aborted || error instanceof BackInQueue) return;
    if (isFinal(error)) {
      this.#broken.abort(error);
      return;
    }
    this.#say('queue', messageOf(error));
    inFlight.failed(inFlight.waitMs);
  }

  #tell({ id, operation }: QueuedSubmission, outcome: SubmissionOutcome): void {
    if (outcome.state === 'queued') this.#say('service', outcome.error);
    if (outcome.state === 'accepted') this.#said.service.clear();
    if (outcome.state === 'rejected' || outcome.state === 'unknown') {
      const error = outcome.error ?? `answered ${outcome.status}`;
      this.#options.log.warn(`submission ${id} (${operation}) is ${outcome.state}: ${error}`);
    }
  }

  #say(where: 'queue' | 'service', trouble: string): void {
    if (!this.#said[where].has(trouble)) this.#options.log.warn(`submissions wait: ${trouble}`);
    this.#said[where].add(trouble);
  }

  #wakeIn(ms: number): void {
    const { clock, bell } = this.#options;
    this.#wake.abort();
    this.#wake = new AbortController();
    clock.sleep(ms, this.#wake.signal).then(
      () => bell.ring(),
      () => {}, // a later look, or the end
    );
  }
}

/** Nothing more can be sent for the account: its loops end. */
function isFinal(error: unknown): boolean {
  return error instanceof KeyRefused || error instanceof LeaseLost;
}
