import type { RowsByCollection } from '../../mirror/deletion/apply-deletions.ts';
import type { PageCounts } from '../../mirror/page-write.ts';
import { NO_WALK_TOTALS, type WalkTotals } from '../../mirror/scope/walk-end.ts';
import type { CollectionName } from '../../model/collections.ts';

/** Sums over walks of a collection, and over the deletions that they proved. */
export interface ReadTotals extends WalkTotals {
  /** Rows of other collections that were deleted with theirs. */
  readonly along: RowsByCollection;
}

export const NO_TOTALS: ReadTotals = { ...NO_WALK_TOTALS, along: new Map() };

const COUNTS = Object.keys(NO_WALK_TOTALS) as readonly (keyof WalkTotals)[];

/** Sums of two walks, or of a walk and one more page. */
export function addTotals(a: ReadTotals, b: Partial<ReadTotals>): ReadTotals {
  const sums = { ...NO_WALK_TOTALS };
  for (const name of COUNTS) sums[name] = a[name] + (b[name] ?? 0);
  return { ...sums, along: addRows(a.along, b.along) };
}

function addRows(a: RowsByCollection, b: RowsByCollection = new Map()): RowsByCollection {
  const sums = new Map<CollectionName, number>(a);
  for (const [name, rows] of b) if (rows > 0) sums.set(name, (sums.get(name) ?? 0) + rows);
  return sums;
}

/** What a page's outcomes add to its walk's totals. */
export function totalsOf(
  counts: PageCounts,
): Pick<WalkTotals, 'inserted' | 'updated' | 'unchanged' | 'quarantined'> {
  return {
    inserted: counts.inserted,
    updated: counts.updated + counts.undeleted,
    unchanged: counts.unchanged + counts.duplicate,
    quarantined: counts.quarantined,
  };
}
