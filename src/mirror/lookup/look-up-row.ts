import { type RawBuilder, sql } from 'kysely';
import { collection } from '../../model/collections.ts';
import type { RowAddress } from '../../model/lookup/row-address.ts';
import type { CutText } from '../../model/lookup/row-story.ts';
import { keyColumns, type Table, typeName } from '../table.ts';

/** A moment as ISO 8601 in UTC, to the microsecond. */
export function isoMoment(value: RawBuilder<unknown>): RawBuilder<string | null> {
  return sql`to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/** The row of the address: condition on its data table, or that table's history, aliased `alias`. */
export function hasAddress(table: Table, { userId, key }: RowAddress, alias: string): RawBuilder<boolean> {
  const parts = [table.parent, table.key].filter((part) => part !== undefined);
  const conditions = parts.map(
    (part, index) => sql`${sql.id(alias, part.column)} = ${key[index] ?? null}::${typeName(part)}`,
  );
  return sql`${sql.join([sql`${sql.id(alias, '_user_id')} = ${userId}::bigint`, ...conditions], sql` and `)}`;
}

/** The key of a row aliased `alias`, as an array of text: the values of its columns after `_user_id`. */
export function keyArray(table: Table, alias: string): RawBuilder<string[]> {
  const columns = keyColumns(table)
    .slice(1)
    .map((column) => sql`${sql.id(alias, column)}::text`);
  return sql`array[${sql.join(columns)}]::text[]`;
}

/** The same row in two tables. */
export function sameRow(table: Table, one: string, other: string): RawBuilder<boolean> {
  const equal = keyColumns(table).map((column) => sql`${sql.id(one, column)} = ${sql.id(other, column)}`);
  return sql`${sql.join(equal, sql` and `)}`;
}

/** Whether rows of the table have a domain (docs/tables.md, "Companies"). */
export function hasDomain({ name }: Table): boolean {
  const entry = collection(name);
  return entry.kind === 'list' && entry.domainFields !== undefined;
}

/** @param characters of the whole; null: there is no text */
export function cutText(text: string | null, characters: number | null): CutText | null {
  return text === null || characters === null ? null : { text, characters };
}
