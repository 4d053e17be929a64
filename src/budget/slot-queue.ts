import PQueue from 'p-queue';
import { HIGH_PRIORITY, type Priority } from './priorities.ts';

/**
 * Tasks that wait for a slot. The queue stays paused; `startOne` starts the one task whose turn it is at that
 * moment: highest priority, then first come. An aborted wait leaves the queue at once.
 */
export class SlotQueue {
  // Neither concurrency nor interval is set: the budget alone decides when a task starts.
  readonly #queue = new PQueue({ autoStart: false });
  #waitingHigh = 0;

  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether a task of high priority waits: the next one is of high priority then. */
  get highWaits(): boolean {
    return this.#waitingHigh > 0;
  }

  /**
   * Settles as `task` does; or rejects with the signal's reason, as soon as it is aborted.
   * `task` is started from within `startOne` and takes its slot before its first `await`.
   */
  async add<T>(task: () => Promise<T>, priority: Priority, signal: AbortSignal): Promise<T> {
    const high = priority >= HIGH_PRIORITY ? 1 : 0;
    let waiting = true;
    const leave = (): void => {
      if (waiting) this.#waitingHigh -= high;
      waiting = false;
    };
    const run = (): Promise<T> => {
      this.#queue.pause();
      leave();
      return task();
    };
    this.#waitingHigh += high;
    try {
      return await this.#queue.add(run, { priority, signal });
    } finally {
      leave();
    }
  }

  /** Starts the next task, if there is one: the queue pauses itself again when the task begins. */
  startOne(): void {
    this.#queue.start();
    this.#queue.pause();
  }
}
