/** Mutual exclusion in one process: holders go one after another, in the order in which they asked. */
export class Mutex {
  #tail: Promise<void> = Promise.resolve();

  /** Runs `task` when all earlier ones have ended, whether they failed or not. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    const before = this.#tail;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#tail = promise;
    await before;
    try {
      return await task();
    } finally {
      resolve();
    }
  }
}
