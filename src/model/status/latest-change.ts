import type { CollectionName } from '../collections.ts';

export const CHANGE_OPS = ['insert', 'update', 'delete', 'undelete'] as const;
export type ChangeOp = (typeof CHANGE_OPS)[number];

/** A row of the view `changes`, or many rows that came or went within the same ten minutes. */
export interface LatestChange {
  /** When the mirror learnt it: of many, the newest. */
  readonly at: string;
  readonly userId: string;
  readonly collection: CollectionName;
  readonly op: ChangeOp;
  /** How many rows; more than 1 only for `insert` and `delete`. */
  readonly rows: number;
  /** There are more than `rows`: nobody counts on. */
  readonly more: boolean;
  /** As in `changes`; null where it is many rows. */
  readonly key: string | null;
  /** Null but for `update`. */
  readonly field: string | null;
  /** JSON text of the field's value, cut where it is long; null: the item did not have it, or has it no more. */
  readonly before: string | null;
  readonly after: string | null;
  /** How many further fields the same change touched, which are not shown. */
  readonly moreFields: number;
  /** Decimal digits: of many, the newest. */
  readonly changeId: string;
}

const WORDS: Readonly<Record<'insert' | 'delete', string>> = { insert: 'new rows', delete: 'rows deleted' };

/** Of many rows at once: `12,345 new rows`; undefined for one row. @param count how a number is written */
export function manyRows(
  { key, op, rows, more }: Pick<LatestChange, 'key' | 'op' | 'rows' | 'more'>,
  count: (rows: number) => string,
): string | undefined {
  if (key !== null || (op !== 'insert' && op !== 'delete')) return undefined;
  return `${more ? 'more than ' : ''}${count(rows)} ${WORDS[op]}`;
}
