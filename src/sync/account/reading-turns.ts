import type { CollectionName } from '../../model/collections.ts';
import { Mutex } from '@research-mirror/runtime/mutex';

/** One reading of each kind and collection at a time: a second request waits, and begins its own. */
export class ReadingTurns {
  readonly #mutexes = new Map<string, Mutex>();
  readonly #walking = new Set<CollectionName>();

  /** @param kind `suspects`: second readings and deletions */
  run<T>(name: CollectionName, kind: 'poll' | 'full' | 'suspects', task: () => Promise<T>): Promise<T> {
    const key = `${name}/${kind}`;
    const mutex = this.#mutexes.get(key) ?? new Mutex();
    this.#mutexes.set(key, mutex);
    return mutex.run(task);
  }

  /** Runs `task` in the turn of full walks; `isWalking` meanwhile. */
  walk<T>(name: CollectionName, task: () => Promise<T>): Promise<T> {
    return this.run(name, 'full', async () => {
      this.#walking.add(name);
      try {
        return await task();
      } finally {
        this.#walking.delete(name);
      }
    });
  }

  isWalking(name: CollectionName): boolean {
    return this.#walking.has(name);
  }
}
