import { derivedKeys } from './derived-keys.ts';
import { keyColumns, type Table } from '../table.ts';

/** A column of a data table. */
export interface OrderedColumn {
  readonly name: string;
  /** As `format_type` prints it. */
  readonly type: string;
}

/** When the service made the item: the time axis that BI tools should take. */
const CREATED_LIKE =
  /^(?:created|inserted|added|submitted|requested|started|registered)(?:_(?:at|on|time|date))?$/;

/** The mirror's own, last: when and under which number a row came or changed here. */
const OURS_LAST = ['_first_seen_at', '_changed_at', '_change_id'];

/** Columns of the service that the first migration made. */
const DOCUMENTED = new Set(['status', 'email', 'credits', 'subscription', 'org']);

/**
 * The order of a `_live` view's columns: single-column keys, account and key, then what the service sends (plain
 * values, times from the making of the item on, what can't be grouped by), then the mirror's own. BI tools take the
 * first time column for the time axis, and show the first columns.
 * @param columns those of the table that the view shows, in the table's order
 */
export function liveOrder(table: Table, columns: readonly OrderedColumn[]): readonly string[] {
  const key = keyColumns(table);
  const rank = ({ name, type }: OrderedColumn): number => {
    if (key.includes(name)) return key.indexOf(name) - key.length;
    if (OURS_LAST.includes(name)) return 5 + OURS_LAST.indexOf(name);
    if (type.startsWith('timestamp') || type === 'date') return CREATED_LIKE.test(name) ? 2 : 3;
    if (type.startsWith('json')) return 4;
    // What the mirror derives from the item's fields stands behind them.
    return name.startsWith('_') ? 1 : 0;
  };
  const sorted = columns.toSorted((one, other) => rank(one) - rank(other));
  return [...derivedKeys(table).map(({ name }) => name), ...sorted.map(({ name }) => name)];
}

/** Whether a view begins as the migrations made it: its columns have never been put in order. */
export function isOriginalOrder(table: Table, present: readonly string[]): boolean {
  const before = present.slice(0, present.indexOf('_first_seen_at'));
  const known = new Set<string>([...derivedKeys(table).map(({ name }) => name), ...keyColumns(table)]);
  return before.every((name) => known.has(name) || DOCUMENTED.has(name));
}
