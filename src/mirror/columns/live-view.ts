import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { derivedKeys } from './derived-keys.ts';
import type { TableView } from './extend-view.ts';
import { dataTable, relation, type Table } from '../table.ts';

/** Columns of every table that the view leaves out. */
const HIDDEN = new Set(['_deleted_at', '_hash', '_raw', '_verbatim']);

/** `<table>_live`: for BI tools, without deleted rows and `_raw`. */
export async function liveView(db: Db, table: Table): Promise<TableView> {
  const { rows } = await db.sql<{ name: string }>`
    select attname as name from pg_attribute
    where attrelid = ${relation(table)} and attnum > 0 and not attisdropped
    order by attnum`;
  const derived = new Map<string, RawBuilder<unknown>>(
    derivedKeys(table).map(({ name, expression }) => [name, expression]),
  );
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
