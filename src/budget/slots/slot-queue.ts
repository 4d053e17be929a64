import PQueue from 'p-queue';
import { HIGH_PRIORITY, type Priority } from '../priorities.ts';

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
   * Settles as `task` does; or, while it waits, rejects with the signal's reason as soon as it is aborted.
   * `task` is started from within `startOne` and takes its slot before its first `await`. From then on the signal is
   * its own affair: what has begun is waited for, whatever it does.
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
      // The queue gives a task up when its signal is aborted, even while it runs: the caller would go on beside it.
      if (started !== undefined) return await started;
      throw error;
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
