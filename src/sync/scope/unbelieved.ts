import { BELIEVED_WITHIN } from '../../mirror/deletion/apply-deletions.ts';
import type { CollectionChange } from '../../mirror/scope/walk-end.ts';
import type { Scope } from '../../model/collections.ts';
import type { ReadingContext } from '../reader/reading-context.ts';

/**
 * Keys of rows that a page showed too soon after they were deleted or changed: the page may be stale. The mirror does
 * not have them as that page had them; they wait for a second sighting (docs/design/deletions.md, "Returns").
 */
export async function unbelievedRows(
  { store, gracePeriodMs }: Pick<ReadingContext, 'store' | 'gracePeriodMs'>,
  scope: Scope,
): Promise<string[]> {
  const returned = (await store.suspectsOf(scope)).filter(({ kind }) => kind === 'returned');
  if (returned.length === 0) return [];
  const stale = (await store.now()).getTime() - BELIEVED_WITHIN * gracePeriodMs;
  return returned.filter(({ at }) => at > stale).map(({ key }) => key);
}

/** The change of `freshness` while a row is not believed: `polled_at` stays as it is. */
export function withoutPolledAt(change: CollectionChange): CollectionChange {
  const { polledAt: _, ...rest } = change;
  return rest;
}
