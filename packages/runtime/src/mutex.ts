/** Mutual exclusion in one process: tasks run one after another, in the order of their calls. */
export class Mutex {
  #tail: Promise<void> = Promise.resolve();

  /** Runs `task` when all earlier ones have ended, with or without an error. */
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
