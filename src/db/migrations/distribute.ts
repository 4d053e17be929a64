import type { Db } from '../connection/db.ts';

/**
 * On Citus, distributes a new table of accounts where `mirror.account` is distributed (docs/design/sql.md, "Rule 2"):
 * a page's commit over a local and a distributed table would not be atomic. Does nothing elsewhere.
 */
export async function distributeNewTables(trx: Db): Promise<void> {
  const { rows } = await trx.sql`select 1 where to_regclass('pg_dist_partition') is not null`;
  if (rows.length === 0) return;
  const account = `${trx.schema}.account`;
  const tables = await trx.sql<{ name: string }>`
    select format('%I.%I', n.nspname, c.relname) as name
    from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attname = '_user_id' and not a.attisdropped
    where n.nspname in (${trx.schema}, ${trx.stateSchema}) and c.relkind = 'r'
      -- api_key knows the owner but is found by the key alone.
      and exists (select 1 from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any(i.indkey))
      and not exists (select 1 from pg_dist_partition d where d.logicalrelid = c.oid)
      and exists (select 1 from pg_dist_partition d where d.logicalrelid = to_regclass(${account}))
    order by 1`;
  for (const { name } of tables.rows) {
    await trx.sql`select create_distributed_table(${name}, '_user_id', colocate_with => ${account})`;
  }
}
