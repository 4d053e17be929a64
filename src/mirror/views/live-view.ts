import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { derivedKeys } from './derived-keys.ts';
import { isOriginalOrder, liveOrder, type OrderedColumn } from './live-order.ts';
import type { TableView } from './extend-view.ts';
import { SECOND_COLUMN } from '../../model/second-column.ts';
import { dataTable, relation, type Table } from '../table.ts';

/** Columns of every table that the view leaves out. */
const HIDDEN = new Set(['_deleted_at', '_hash', '_raw', '_verbatim']);

/** `<table>_live`: for BI tools, without deleted rows and `_raw`. */
export async function liveView(db: Db, table: Table): Promise<TableView> {
  const { rows } = await db.sql<OrderedColumn>`
    select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
    where attrelid = ${relation(table)} and attnum > 0 and not attisdropped
    order by attnum`;
  const derived = new Map<string, RawBuilder<unknown>>(
    derivedKeys(table).map(({ name, expression }) => [name, expression]),
  );
  const shown = rows.filter(({ name }) => !HIDDEN.has(name) && !SECOND_COLUMN.test(name));
  const isLoading = await isFirstLoad(db, table);
  return {
    suffix: '_live',
    columns: liveOrder(table, shown),
    comments: new Map(derivedKeys(table).map(({ name, comment }) => [name, comment])),
    isOpen: (present) => isLoading || isOriginalOrder(table, present),
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

/** No account's collection has been read to its end so far: fields that are rare or null at first still come. */
async function isFirstLoad(db: Db, table: Table): Promise<boolean> {
  const { rows } = await db.sql<{ done: boolean }>`
    select count(*) > 0 as done from ${db.table('_collections')}
    where collection = ${table.name} and complete_as_of is not null`;
  return rows[0]?.done !== true;
}
