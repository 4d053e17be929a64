import type { RowsByCollection } from '../../mirror/mirror.ts';
import type { PageCounts } from '../../mirror/page-write.ts';
import type { WalkTotals } from '../../mirror/scope/walk-end.ts';
import type { CollectionName } from '../../model/collections.ts';

/** Sums over walks of a collection, and over what was deleted by their proofs. */
export interface ReadTotals extends WalkTotals {
  /** Rows of other collections that went with the deleted ones. */
  readonly along: RowsByCollection;
}

export const NO_TOTALS: ReadTotals = {
  pages: 0,
  items: 0,
  inserted: 0,
  updated: 0,
  deleted: 0,
  unchanged: 0,
  quarantined: 0,
  requests: 0,
  rateLimited: 0,
  along: new Map(),
};

/** Sums of two walks, or of a walk and what one more page added. */
export function addTotals(a: ReadTotals, b: Partial<ReadTotals>): ReadTotals {
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
    along: addRows(a.along, b.along),
  };
}

function addRows(a: RowsByCollection, b: RowsByCollection = new Map()): RowsByCollection {
  const sums = new Map<CollectionName, number>(a);
  for (const [name, rows] of b) if (rows > 0) sums.set(name, (sums.get(name) ?? 0) + rows);
  return sums;
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
