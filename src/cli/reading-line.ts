import type { PassProgress } from '../app/pass-progress.ts';
import { formatCount } from '../runtime/figures.ts';

/** What a pass has read so far, in one line: sums over all accounts by collection, in the order in which they began. */
export function readingLine(passes: Iterable<PassProgress>): string {
  const sums = new Map<string, Pick<PassProgress, 'items' | 'inserted' | 'updated'>>();
  for (const { collection, items, inserted, updated } of passes) {
    const before = sums.get(collection) ?? { items: 0, inserted: 0, updated: 0 };
    sums.set(collection, {
      items: before.items + items,
      inserted: before.inserted + inserted,
      updated: before.updated + updated,
    });
  }
  if (sums.size === 0) return 'reading: …';
  const parts = [...sums].map(([collection, { items, inserted, updated }]) => {
    const changes = [
      ...(inserted > 0 ? [`+${formatCount(inserted)}`] : []),
      ...(updated > 0 ? [`~${formatCount(updated)}`] : []),
    ];
    return `${collection} ${formatCount(items)}${changes.length > 0 ? ` (${changes.join(' ')})` : ''}`;
  });
  return `reading: ${parts.join(' · ')}`;
}
