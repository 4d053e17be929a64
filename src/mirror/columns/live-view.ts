import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { TableView } from './extend-view.ts';
import { dataTable, keyColumns, relation, type Table } from '../table.ts';

/** Columns of every table that the view leaves out. */
const HIDDEN = new Set(['_deleted_at', '_hash', '_raw', '_verbatim']);

/** `<table>_live`: for BI tools, without deleted rows and `_raw`. */
export async function liveView(db: Db, table: Table): Promise<TableView> {
  const { rows } = await db.sql<{ name: string }>`
    select attname as name from pg_attribute
    where attrelid = ${relation(table)} and attnum > 0 and not attisdropped
    order by attnum`;
  const derived = derivedColumns(table);
  const shown = rows.map(({ name }) => name).filter((name) => !HIDDEN.has(name));
  return {
    suffix: '_live',
    columns: [...derived.keys(), ...shown],
    query: (names) => sql`
      select ${sql.join(
        names.map((name) => {
          const expression = derived.get(name);
          return expression === undefined ? sql.id(name) : sql`${expression} as ${sql.id(name)}`;
        }),
      )}
      from ${dataTable(table)} where _deleted_at is null`,
  };
}

/** Single-column keys for BI tools: `_key`, and `_list_key` on list items. */
function derivedColumns(table: Table): Map<string, RawBuilder<unknown>> {
  const joined = (names: readonly string[]): RawBuilder<unknown> =>
    names.length === 1
      ? sql`_user_id::text`
      : sql.join(
          names.map((name) => sql.id(name)),
          sql` || ':' || `,
        );
  const keys = keyColumns(table);
  const derived = new Map([['_key', joined(keys)]]);
  if (table.parent !== undefined) derived.set('_list_key', joined(keys.slice(0, -1)));
  return derived;
}
