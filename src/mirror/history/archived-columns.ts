import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import type { Table } from '../table.ts';

/**
 * Columns that a row and its archived versions have in common, by name and type: what is copied into
 * `<table>_history`. A column that somebody dropped, changed or made in one of the two tables alone is left out.
 * They are stable in a transaction that has read the table: columns are added to both under its lock.
 */
export async function historyColumns(db: Db, table: Table): Promise<string[]> {
  const relation = (suffix: string) =>
    sql`to_regclass(format('%I.%I', ${table.schema}::text, ${table.name + suffix}::text))`;
  const { rows } = await sql<{ name: string }>`
    select a.attname as name from pg_attribute a
      join pg_attribute h on h.attrelid = ${relation('_history')} and h.attname = a.attname
        and h.atttypid = a.atttypid and h.atttypmod = a.atttypmod
    where a.attrelid = ${relation('')} and a.attnum > 0 and not a.attisdropped
      and h.attnum > 0 and not h.attisdropped and h.attgenerated = ''
    order by a.attnum`.execute(db);
  return rows.map(({ name }) => name);
}
