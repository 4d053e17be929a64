import type { PassProgress } from '../../app/sync/pass-progress.ts';
import { formatCount, formatSpan } from '@research-mirror/runtime/figures';

/** What a pass has read so far, in one line: sums over all accounts by collection, in the order in which they began. */
export function readingLine(passes: Iterable<PassProgress>): string {
  const sums = new Map<string, Pick<PassProgress, 'items' | 'inserted' | 'updated' | 'deleted' | 'doubts'>>();
  for (const { collection, items, inserted, updated, deleted, doubts } of passes) {
    const before = sums.get(collection) ?? NOTHING;
    sums.set(collection, {
      items: before.items + items,
      inserted: before.inserted + inserted,
      updated: before.updated + updated,
      deleted: before.deleted + deleted,
      doubts: doubts ?? before.doubts,
    });
  }
  if (sums.size === 0) return 'reading: …';
  const parts = [...sums].map(([collection, { items, inserted, updated, deleted, doubts }]) => {
    const changes = [
      ...(inserted > 0 ? [`+${formatCount(inserted)}`] : []),
      ...(updated > 0 ? [`~${formatCount(updated)}`] : []),
      ...(deleted > 0 ? [`-${formatCount(deleted)}`] : []),
      ...(doubts === null
        ? []
        : [`${formatCount(doubts.rows)} missing, read again in ${formatSpan(doubts.milliseconds)}`]),
    ];
    return `${collection} ${formatCount(items)}${changes.length > 0 ? ` (${changes.join(' ')})` : ''}`;
  });
  return `reading: ${parts.join(' · ')}`;
}

const NOTHING = { items: 0, inserted: 0, updated: 0, deleted: 0, doubts: null } as const;
