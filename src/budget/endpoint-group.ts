import type { Clock } from '@research-mirror/runtime/clock';
import type { GroupModel } from './group-model.ts';
import { Reservations } from './slots/reservations.ts';
import PQueue from 'p-queue';
import { HIGH_PRIORITY, type Priority } from './priorities.ts';

/**
 * Tasks that wait for a slot. The queue stays paused; `startOne` starts the task of the highest priority that came
 * first. An aborted task leaves the queue at once.
 */
export class SlotQueue {
  // Neither concurrency nor interval is set: the budget decides when a task starts.
  readonly #queue = new PQueue({ autoStart: false });
  #waitingHigh = 0;

  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether a task of high priority waits: it is then the next one. */
  get highWaits(): boolean {
    return this.#waitingHigh > 0;
  }

  /**
   * Resolves or rejects as `task` does; while it waits, an abort rejects with the signal's reason at once. `startOne`
   * starts `task`, which takes its slot before its first `await`. Once begun, it is awaited whatever the signal does.
   */
  async add<T>(task: () => Promise<T>, priority: Priority, signal: AbortSignal): Promise<T> {
    const high = priority >= HIGH_PRIORITY ? 1 : 0;
    let waiting = true;
    const leave = (): void => {
      if (waiting) this.#waitingHigh -= high;
      waiting = false;
    };
    let started: Promise<T> | undefined;
    const run = (): Promise<T> => {
      this.#queue.pause();
      leave();
      started = task();
      return started;
    };
    this.#waitingHigh += high;
    try {
      return await this.#queue.add(run, { priority, signal });
    } catch (error) {
      // An abort makes the queue drop a task even while it runs: the caller must not go on before it ends.
      if (started !== undefined) return await started;
      throw error;
    } finally {
      leave();
    }
  }

  /** Starts the next task, if there is one. The queue pauses itself when the task begins. */
  startOne(): void {
    this.#queue.start();
    this.#queue.pause();
  }
}

/** One endpoint group at the rim: its waiting tasks, its reservations, its one timer. */
export class EndpointGroup {
  readonly model: GroupModel;
  readonly queue = new SlotQueue();
  readonly reservations = new Reservations();
  /** A reservation is being committed. */
  reserving = false;
  readonly #clock: Clock;
  #failure: { readonly error: unknown } | undefined;
  #wake: { readonly at: number; readonly controller: AbortController } | undefined;

  constructor(model: GroupModel, clock: Clock) {
    this.model = model;
    this.#clock = clock;
  }

  /** Calls `wake` at the monotonic moment `at`, or earlier. */
  wakeAt(at: number, wake: () => void): void {
    if (this.#wake !== undefined && this.#wake.at <= at) return;
    this.stopWaking();
    const controller = new AbortController();
    const mine = { at, controller };
    this.#wake = mine;
    const fire = (): void => {
      if (this.#wake === mine) this.#wake = undefined;
      wake();
    };
    // Whole milliseconds, rounded up, and at least one: timers cut fractions off, and sums of fractions are inexact.
    // Both would wake too early, again and again.
    const ms = Math.max(1, Math.ceil(at - this.#clock.monotonic()));
    this.#clock.sleep(ms, controller.signal).then(fire, () => {
      // An earlier wake-up took its place, or the budget was closed.
    });
  }

  stopWaking(): void {
    this.#wake?.controller.abort();
    this.#wake = undefined;
  }

  /** Every task that waits now rejects with `error`. */
  fail(error: unknown): void {
    this.#failure = { error };
    while (this.queue.waiting > 0) this.queue.startOne();
    this.#failure = undefined;
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
