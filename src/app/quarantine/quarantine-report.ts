import type { PageResult } from '../../mirror/page-write.ts';
import type { CollectionName } from '../../model/collections.ts';

/** What became of the quarantined items of one collection of one account when they were tried again. */
export interface RetriedCollection {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly tried: number;
  /** Written into their table: new rows, changed ones, ones that came back. */
  readonly mirrored: number;
  /** The mirror had the same content already: they have left the quarantine. */
  readonly unchanged: number;
  /** Items that stay in quarantine, by reason, the most frequent first. */
  readonly left: readonly LeftItems[];
  /** Why not all were tried; null: all were. */
  readonly error: string | null;
}

export interface LeftItems {
  readonly reason: string;
  readonly items: number;
}

/** A retry that did not take place. */
export function notRetried(userId: string, collection: CollectionName, error: string): RetriedCollection {
  return { userId, collection, tried: 0, mirrored: 0, unchanged: 0, left: [], error };
}

/** Counts what became of the items of one collection. */
export class RetryTally {
  #sums: RetriedCollection;
  readonly #left = new Map<string, number>();
  error: string | null = null;

  constructor(userId: string, collection: CollectionName) {
    this.#sums = notRetried(userId, collection, '');
  }

  #add(sum: 'tried' | 'mirrored' | 'unchanged', items = 1): void {
    this.#sums = { ...this.#sums, [sum]: this.#sums[sum] + items };
  }

  /** Counts items that stay in quarantine, whether they were written or not. */
  leave(reason: string, items = 1): void {
    this.#add('tried', items);
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
        this.#add('tried');
        this.#add(outcome === 'unchanged' || outcome === 'duplicate' ? 'unchanged' : 'mirrored');
      }
    }
  }

  report(): RetriedCollection {
    const left = [...this.#left].map(([reason, items]) => ({ reason, items }));
    return { ...this.#sums, left: left.toSorted((a, b) => b.items - a.items), error: this.error };
  }
}
