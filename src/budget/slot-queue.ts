import type { Clock } from '@research-mirror/runtime/clock';
import { HIGH_PRIORITY, type Priority } from './priorities.ts';

/** A task that waits: `start` is called once, or `fail`. */
interface Waiting {
  readonly priority: Priority;
  readonly start: () => void;
  readonly fail: (error: unknown) => void;
}

/** Tasks of one endpoint group that wait for a slot, and the one timer that wakes them. */
export class SlotQueue {
  readonly #clock: Clock;
  /** In the order in which they start. */
  readonly #waiting: Waiting[] = [];
  #wake: { readonly at: number; readonly controller: AbortController } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Whether a task of high priority waits: it is then the next one. */
  get highWaits(): boolean {
    return (this.#waiting[0]?.priority ?? -Infinity) >= HIGH_PRIORITY;
  }

  /**
   * Resolves or rejects as `task` does, which `startOne` starts; while it waits, an abort rejects with the signal's
   * reason at once. Once begun, it is awaited whatever the signal does.
   */
  async add<T>(task: () => Promise<T>, priority: Priority, signal: AbortSignal): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal.reason as Error);
      };
      const waiting: Waiting = {
        priority,
        start: () => {
          signal.removeEventListener('abort', leave);
          task().then(resolve, reject);
        },
        fail: (error) => {
          signal.removeEventListener('abort', leave);
          reject(error);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      const after = this.#waiting.findLastIndex((each) => each.priority >= priority);
      this.#waiting.splice(after + 1, 0, waiting);
    });
  }

  /** Starts the next task, if there is one: the highest priority first, then who came first. */
  startOne(): void {
    this.#waiting.shift()?.start();
  }

  /** Every task that waits now rejects with `error`. */
  fail(error: unknown): void {
    for (const waiting of this.#waiting.splice(0)) waiting.fail(error);
  }

  /** Calls `wake` at the monotonic moment `at`, or earlier; Infinity: not at all. */
  wakeAt(at: number, wake: () => void): void {
    if (at === Infinity || (this.#wake !== undefined && this.#wake.at <= at)) return;
    this.stopWaking();
    const mine = { at, controller: new AbortController() };
    this.#wake = mine;
    const fire = (): void => {
      if (this.#wake === mine) this.#wake = undefined;
      wake();
    };
    // Whole milliseconds, rounded up, and at least one: timers cut fractions off, and sums of fractions are inexact.
    // Both would wake too early, again and again.
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
