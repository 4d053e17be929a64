import { sql } from 'kysely';
import { type Db, quotedName } from '../../../src/postgres/db.ts';

/** Every row of every table of both schemas whose text contains `needle`: `mirror.lists: {…}`. */
export async function rowsWith(db: Db, needle: string): Promise<string[]> {
  const tables = await db.sql<{ schema: string; name: string }>`
    select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and n.nspname in (${db.schema}, ${db.stateSchema}) order by 1, 2`;
  const found: string[] = [];
  for (const { schema, name } of tables.rows) {
    const table = `${quotedName(schema)}.${quotedName(name)}`;
    const { rows } = await db.sql<{ row: string }>`
      select t::text as row from ${sql.raw(table)} as t where strpos(t::text, ${needle}) > 0`;
    found.push(...rows.map(({ row }) => `${table}: ${row}`));
  }
  return found;
}
