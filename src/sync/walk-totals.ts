import type { PageCounts } from '../mirror/page-write.ts';
import type { WalkTotals } from '../mirror/walk-end.ts';

export const NO_TOTALS: WalkTotals = {
  pages: 0,
  items: 0,
  inserted: 0,
  updated: 0,
  deleted: 0,
  unchanged: 0,
  quarantined: 0,
  requests: 0,
  rateLimited: 0,
};

/** Sums of two walks, or of a walk and what one more page added. */
export function addTotals(a: WalkTotals, b: Partial<WalkTotals>): WalkTotals {
  return {
    pages: a.pages + (b.pages ?? 0),
    items: a.items + (b.items ?? 0),
    inserted: a.inserted + (b.inserted ?? 0),
    updated: a.updated + (b.updated ?? 0),
    deleted: a.deleted + (b.deleted ?? 0),
    unchanged: a.unchanged + (b.unchanged ?? 0),
    quarantined: a.quarantined + (b.quarantined ?? 0),
    requests: a.requests + (b.requests ?? 0),
    rateLimited: a.rateLimited + (b.rateLimited ?? 0),
  };
}

/** What a page's outcomes add to its walk's totals. */
export function totalsOf(counts: PageCounts): Partial<WalkTotals> {
  return {
    inserted: counts.inserted,
    updated: counts.updated + counts.undeleted,
    unchanged: counts.unchanged + counts.duplicate,
    quarantined: counts.quarantined,
  };
}
