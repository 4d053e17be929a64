import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';

/**
 * Makes a table of a page's size (500 rows of 2 kB that can't be compressed), adds a column, and rolls all of that back:
 * in each tablespace that has a part of the mirror.
 * @throws what Postgres refuses it with
 */
export async function tryWriting(db: Db): Promise<void> {
  const { rows } = await db.sql<{ tablespace: string }>`
    select distinct s.spcname as tablespace from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_database d on d.datname = current_database()
      join pg_tablespace s on s.oid = case c.reltablespace when 0 then d.dattablespace else c.reltablespace end
    where n.nspname in (${db.schema}, ${db.stateSchema}) and c.relkind in ('r', 'i')
    order by 1`;
  for (const { tablespace } of rows) {
    const table = db.stateTable(`trial_${randomUUID()}`);
    await db.transaction(async (trx) => {
      await trx.sql`savepoint trial`;
      await trx.sql`
        create table ${table} tablespace ${sql.id(tablespace)} as
        select (select string_agg(md5(random()::text || n || m), '') from generate_series(1, 60) as m) as filler
        from generate_series(1, 500) as n`;
      await trx.sql`alter table ${table} add column field text`;
      await trx.sql`rollback to savepoint trial`;
    });
  }
}
