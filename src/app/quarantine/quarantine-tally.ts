import type { PageResult } from '../../mirror/page-write.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { RetriedCollection } from './quarantine-report.ts';

/** Counts what became of the items of one collection. */
export class RetryTally {
  readonly #userId: string;
  readonly #collection: CollectionName;
  #tried = 0;
  #mirrored = 0;
  #unchanged = 0;
  readonly #left = new Map<string, number>();
  error: string | null = null;

  constructor(userId: string, collection: CollectionName) {
    this.#userId = userId;
    this.#collection = collection;
  }

  /** Counts items that stay in quarantine, whether they were written or not. */
  leave(reason: string, items = 1): void {
    this.#tried += items;
    if (items > 0) this.#left.set(reason, (this.#left.get(reason) ?? 0) + items);
  }

  /** Counts what was written. @param reasonOf why an item was refused again, by its index in the write */
  count(result: PageResult, items: number, reasonOf: (index: number) => string): void {
    if (result.state === 'parent_deleted') {
      this.leave('its list is deleted', items);
      return;
    }
    for (const [index, outcome] of result.outcomes.entries()) {
      if (outcome === 'quarantined') this.leave(reasonOf(index));
      else if (outcome === 'deferred')
        this.leave('it contradicts what was seen a moment ago: try again later');
      else {
        this.#tried += 1;
        if (outcome === 'unchanged' || outcome === 'duplicate') this.#unchanged += 1;
        else this.#mirrored += 1;
      }
    }
  }

  report(): RetriedCollection {
    const left = [...this.#left].map(([reason, items]) => ({ reason, items }));
    return {
      userId: this.#userId,
      collection: this.#collection,
      tried: this.#tried,
      mirrored: this.#mirrored,
      unchanged: this.#unchanged,
      left: left.toSorted((a, b) => b.items - a.items),
      error: this.error,
    };
  }
}
