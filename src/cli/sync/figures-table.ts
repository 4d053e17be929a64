import { formatCount } from '@research-mirror/runtime/figures';
import { formatTable } from '../terminal/text-table.ts';

/** What was done with one collection. */
interface Done {
  readonly userId: string;
  readonly collection: string;
  readonly milliseconds: number;
  readonly error: string | null;
}

/**
 * A row for each collection.
 * @param titles of the counts
 */
export function figuresTable<Each extends Done>(
  collections: readonly Each[],
  titles: readonly string[],
  counts: (each: Each) => readonly number[],
  width: number | undefined,
): string {
  return formatTable(
    [
      { title: 'account', align: 'right' },
      { title: 'collection', align: 'left' },
      ...[...titles, 'took'].map((title) => ({ title, align: 'right' }) as const),
      { title: '', align: 'left' },
    ],
    collections.map((each) => [
      each.userId,
      each.collection,
      ...counts(each).map(formatCount),
      `${(each.milliseconds / 1000).toFixed(1)} s`,
      each.error ?? '',
    ]),
    width,
  );
}
