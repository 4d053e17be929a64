import PQueue from 'p-queue';
import { HIGH_PRIORITY, type Priority } from '../priorities.ts';

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
