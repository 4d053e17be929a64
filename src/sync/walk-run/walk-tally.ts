import type { ItemOutcome, PageCounts } from '../../mirror/page-write.ts';
import { addTotals, NO_TOTALS, totalsOf, type ReadTotals } from './walk-totals.ts';

/** Keys of `WalkResult.seen` at most: a poll after a long outage may read a million. */
const MOST_SEEN = 50_000;

/** What the mirror did not have so, or will have so once it is seen again. */
const IS_NEWS: ReadonlySet<ItemOutcome> = new Set(['inserted', 'updated', 'undeleted', 'deferred']);

/** What a walk has read so far, for its result. */
export class WalkTally {
  readonly #seen = new Set<string>();
  #totals: ReadTotals = NO_TOTALS;
  #lastNews = 0;

  get totals(): ReadTotals {
    return this.#totals;
  }

  /** As `WalkResult.seen`. */
  get seen(): ReadonlySet<string> {
    return this.#seen;
  }

  /** As `WalkResult.lastNews`. */
  get lastNews(): number {
    return this.#lastNews;
  }

  add(more: Partial<ReadTotals>): void {
    this.#totals = addTotals(this.#totals, more);
  }

  saw(keys: readonly string[]): void {
    for (const key of keys) if (this.#seen.size < MOST_SEEN) this.#seen.add(key);
  }

  /** A page of so many items, which are among the totals already, was written. */
  wrote(items: number, outcomes: readonly ItemOutcome[], counts: PageCounts): void {
    const news = outcomes.findLastIndex((outcome) => IS_NEWS.has(outcome)) + 1;
    if (news > 0) this.#lastNews = this.#totals.items - items + news;
    this.add(totalsOf(counts));
  }
}
