import PQueue from 'p-queue';
import type { Clock } from '@research-mirror/runtime/clock';
import { HIGH_PRIORITY, PRIORITY, type Priority } from './rate-groups.ts';

const HIGH_PRIORITIES = Object.values(PRIORITY).filter((each) => each >= HIGH_PRIORITY);

/** Tasks of one endpoint group that wait for a slot, and the one timer that wakes them. The queue stays paused. */
export class SlotQueue {
  // Neither concurrency nor interval is set: the budget decides when a task starts.
  readonly #queue = new PQueue({ autoStart: false });
  readonly #clock: Clock;
  #failure: { readonly error: unknown } | undefined;
  #wake: { readonly at: number; readonly controller: AbortController } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether a task of high priority waits: it is then the next one. */
  get highWaits(): boolean {
    return HIGH_PRIORITIES.some((priority) => this.#queue.sizeBy({ priority }) > 0);
  }

  /** Adds a task and settles as it does. An abort rejects at once while the task waits; a started one is awaited. */
  async add<T>(task: () => Promise<T>, priority: Priority, signal: AbortSignal): Promise<T> {
    let started: Promise<T> | undefined;
    const run = (): Promise<T> => {
      this.#queue.pause();
      if (this.#failure !== undefined) throw this.#failure.error;
      started = task();
      return started;
    };
    try {
      return await this.#queue.add(run, { priority, signal });
    } catch (error) {
      // An abort makes the queue drop a task even while it runs: the caller must not go on before it ends.
      if (started !== undefined) return await started;
      throw error;
    }
  }

  /** Starts the first task of the highest priority, if any. */
  startOne(): void {
    this.#queue.start();
    this.#queue.pause();
  }

  /** Rejects every waiting task with `error`. */
  fail(error: unknown): void {
    this.#failure = { error };
    while (this.waiting > 0) this.startOne();
    this.#failure = undefined;
  }

  /** Calls `wake` at the monotonic moment `at`, or earlier; Infinity: never. */
  wakeAt(at: number, wake: () => void): void {
    if (at === Infinity || (this.#wake !== undefined && this.#wake.at <= at)) return;
    this.stopWaking();
    const mine = { at, controller: new AbortController() };
    this.#wake = mine;
    const fire = (): void => {
      if (this.#wake === mine) this.#wake = undefined;
      wake();
    };
    // Timers cut fractions off, and sums of fractions are inexact: both would wake too early, again and again.
    const ms = Math.max(1, Math.ceil(at - this.#clock.monotonic()));
    this.#clock.sleep(ms, mine.controller.signal).then(fire, () => {
      // An earlier wake-up took its place, or the budget was closed.
    });
  }

  stopWaking(): void {
    this.#wake?.controller.abort();
    this.#wake = undefined;
  }
}
