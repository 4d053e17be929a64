import type { CollectionName } from '../../model/collections.ts';
import type { ReadingContext } from '../reader/reading-context.ts';
import type { ReadOutcome } from './read-outcome.ts';

/** How often (ms) a long reading says that it goes on; `freshness` believes it for two and a half times as long. */
const EACH_MS = 60_000;

/**
 * Says in Postgres while a long reading is under way: what is promised for then is not overdue. What reads a collection
 * again after a failure says nothing until one has ended well: how late it is should show.
 */
export class LongReadings {
  readonly #context: Pick<ReadingContext, 'store' | 'clock'>;
  readonly #failed = new Set<CollectionName>();

  constructor(context: Pick<ReadingContext, 'store' | 'clock'>) {
    this.#context = context;
  }

  /** @param atOnce it is known to be long; else it says so after a minute */
  async tell(
    name: CollectionName,
    { atOnce }: { readonly atOnce: boolean },
    read: () => Promise<ReadOutcome>,
  ): Promise<ReadOutcome> {
    const over = new AbortController();
    const telling = this.#failed.has(name) ? undefined : this.#tellEach(name, atOnce, over.signal);
    let failed = true;
    try {
      const outcome = await read();
      failed = outcome.error !== undefined;
      return outcome;
    } finally {
      if (failed) this.#failed.add(name);
      else this.#failed.delete(name);
      over.abort();
      await telling;
    }
  }

  async #tellEach(name: CollectionName, atOnce: boolean, over: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    for (let wait = atOnce ? 0 : EACH_MS; ; wait = EACH_MS) {
      try {
        if (wait > 0) await clock.sleep(wait, over);
        await store.saveCollection(name, { readingAt: new Date(clock.now()) });
      } catch {
        // Over; or it can't be stored, and then pages can't either: their walk says so.
      }
      if (over.aborted) return;
    }
  }
}
