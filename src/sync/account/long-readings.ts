import type { CollectionName } from '../../model/collections.ts';
import type { ReadingContext } from '../reader/reading-context.ts';
import type { ReadOutcome } from './read-outcome.ts';

/**
 * How often (ms) a long reading reports that it goes on; `freshness` believes it for two and a half times as long.
 */
const EACH_MS = 60_000;

/**
 * Stores while a long reading is under way, so that the collection's next run is not overdue. After a failure nothing
 * is stored until a reading has ended well: that the collection is late should show.
 */
export class LongReadings {
  readonly #context: Pick<ReadingContext, 'store' | 'clock'>;
  readonly #failed = new Set<CollectionName>();

  constructor(context: Pick<ReadingContext, 'store' | 'clock'>) {
    this.#context = context;
  }

  /** @param atOnce it is known to be long; else that is stored after a minute */
  async during(
    name: CollectionName,
    { atOnce }: { readonly atOnce: boolean },
    read: () => Promise<ReadOutcome>,
  ): Promise<ReadOutcome> {
    const over = new AbortController();
    const reports = this.#failed.has(name) ? undefined : this.#report(name, atOnce, over.signal);
    let failed = true;
    try {
      const outcome = await read();
      failed = outcome.error !== undefined;
      return outcome;
    } finally {
      if (failed) this.#failed.add(name);
      else this.#failed.delete(name);
      over.abort();
      await reports;
    }
  }

  async #report(name: CollectionName, atOnce: boolean, over: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    for (let wait = atOnce ? 0 : EACH_MS; ; wait = EACH_MS) {
      try {
        if (wait > 0) await clock.sleep(wait, over);
        await store.saveCollection(name, { readingAt: new Date(clock.now()) });
      } catch {
        // It is over; or nothing can be stored, and then pages can't either: their walk reports it.
      }
      if (over.aborted) return;
    }
  }
}
