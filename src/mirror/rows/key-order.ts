import { type RawBuilder, sql } from 'kysely';
import type { Table } from '../table.ts';

/*
 * Keys compare as in `compareKeys`: bigint as such, text by length, then bytes. An index serves both: the primary
 * key, or the one named `…_order`.
 */

/** The key column of the table aliased `t`. */
export function keyColumn(table: Table): RawBuilder<unknown> {
  if (table.key === undefined) throw new RangeError(`${table.name} has no keys`);
  return sql`t.${sql.id(table.key.column)}`;
}

/** Where a row of `t` stands in key order: compared with `placeOf`. */
export function place(table: Table): RawBuilder<unknown> {
  const column = keyColumn(table);
  return table.key?.type === 'bigint' ? column : sql`(octet_length(${column}), ${column})`;
}

/** Where `key` stands in key order. */
export function placeOf(table: Table, key: string): RawBuilder<unknown> {
  return table.key?.type === 'bigint' ? sql`${key}::bigint` : sql`(octet_length(${key}::text), ${key}::text)`;
}

/** The rows of `t` behind `key` in rising key order; all of them where it is undefined. */
export function behind(table: Table, key: string | undefined): RawBuilder<unknown> {
  return key === undefined ? sql`true` : sql`${place(table)} > ${placeOf(table, key)}`;
}

/** For ORDER BY: by key, rising or falling. */
export function placeOrder(table: Table, order: 'up' | 'down'): RawBuilder<unknown> {
  const column = keyColumn(table);
  const way = order === 'up' ? sql`asc` : sql`desc`;
  return table.key?.type === 'bigint'
    ? sql`${column} ${way}`
    : sql`octet_length(${column}) ${way}, ${column} ${way}`;
}
