import type { Db } from '../connection/db.ts';
import { COPIED_TABLES, LEFT_BEHIND } from '../copy/copied-tables.ts';

/** A table of accounts: its primary key contains `_user_id`, so Citus can spread it by account. */
export interface TableOfAccounts {
  /** Schema and name, quoted, as SQL and `regclass` read them. */
  readonly name: string;
  /** `<schema>.account`, beside whose shards those of all others lie. */
  readonly isFirst: boolean;
  readonly distributed: boolean;
  /** The login may change it. */
  readonly ours: boolean;
  /** Bytes of its rows that lie on this server itself; of a distributed one: what is left of it from before. */
  readonly bytesHere: number;
  /** Constraints and unique indexes without `_user_id`, and triggers: Citus distributes no table that has one. */
  readonly obstacles: readonly string[];
}

/** Whether this database has Citus: its catalogue is there. */
export async function hasCitus(db: Db): Promise<boolean> {
  const { rows } = await db.sql`select 1 where to_regclass('pg_dist_partition') is not null`;
  return rows.length > 0;
}

/** All tables that this version's mirror has. What else lies in its schemas is somebody's own, and stays as it is. */
const OWN: ReadonlySet<string> = new Set(
  [...COPIED_TABLES, ...LEFT_BEHIND].map(({ schema, name }) => `${schema}.${name}`),
);

/** The mirror's tables of accounts, `<schema>.account` first. For a database that has Citus. */
export async function tablesOfAccounts(db: Db): Promise<readonly TableOfAccounts[]> {
  const tables = await tablesThere(db);
  return tables.filter(({ place }) => OWN.has(place));
}

interface TableThere extends TableOfAccounts {
  readonly oid: string;
  /** `mirror.account`, `state.account`, whatever the schema's name is. */
  readonly place: string;
}

/** Everything in the mirror's schemas that looks like a table of accounts. */
async function tablesThere(db: Db): Promise<readonly TableThere[]> {
  const { rows } = await db.sql<TableThere>`
    select c.oid::text as oid,
      case n.nspname when ${db.schema} then 'mirror.' else 'state.' end || c.relname as place, format('%I.%I', n.nspname, c.relname) as name,
      n.nspname = ${db.schema} and c.relname = 'account' as "isFirst",
      exists (select 1 from pg_dist_partition d where d.logicalrelid = c.oid) as distributed,
      pg_has_role(c.relowner, 'usage') as ours,
      pg_table_size(c.oid)::float8 as "bytesHere",
      array(
        select i.indexrelid::regclass::text from pg_index i
        where i.indrelid = c.oid and (i.indisunique or i.indisexclusion)
          -- Without what it only includes.
          and not a.attnum = any((i.indkey::int2[])[0:i.indnkeyatts - 1])
        union all
        select conname from pg_constraint where contype = 'f' and c.oid in (conrelid, confrelid)
        union all
        select tgname from pg_trigger where tgrelid = c.oid and not tgisinternal) as obstacles
    from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attname = '_user_id' and not a.attisdropped
    where n.nspname in (${db.schema}, ${db.stateSchema}) and c.relkind = 'r'
      -- api_key knows the owner but is found by the key alone.
      and exists (select 1 from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any(i.indkey))
    order by "isFirst" desc, 1`;
  return rows;
}

/** `<schema>.account`, beside whose shards those of all other tables lie. */
function firstTable(db: Db): string {
  return `"${db.schema}".account`;
}

/**
 * Spreads tables over the nodes by `_user_id`, their rows with them: whoever writes to one waits until the transaction
 * ends. `<schema>.account` is one of them, or is distributed.
 * @param shards into how many parts accounts are spread; undefined: as the server is set
 * @param onTable told before each
 */
export async function distributeTables(
  trx: Db,
  tables: readonly TableOfAccounts[],
  shards: number | undefined,
  onTable: (table: TableOfAccounts) => void,
): Promise<void> {
  const first = firstTable(trx);
  for (const table of tables) {
    onTable(table);
    await (table.isFirst
      ? // 'none': never beside the tables of another program, with which it would have to move.
        trx.sql`select create_distributed_table(${table.name}, '_user_id', colocate_with => 'none',
          shard_count => coalesce(${shards ?? null}::int, current_setting('citus.shard_count')::int))`
      : trx.sql`select create_distributed_table(${table.name}, '_user_id', colocate_with => ${first})`);
  }
}

/** Tables of accounts before a migration; undefined where none is to be distributed: `account` is not. */
export type TablesBefore = ReadonlySet<string> | undefined;

/** To be called in a migration's transaction, before the migration. */
export async function tablesBefore(trx: Db): Promise<TablesBefore> {
  if (!(await hasCitus(trx))) return undefined;
  const tables = await tablesThere(trx);
  if (!tables.some(({ isFirst, distributed }) => isFirst && distributed)) return undefined;
  return new Set(tables.map(({ oid }) => oid));
}

/**
 * On Citus, distributes what a migration has made of tables of accounts, where `account` is distributed
 * (docs/design/sql.md, "Rule 2"): a page's commit over a local and a distributed table would not be atomic. Does nothing
 * elsewhere, and nothing to tables that were there: they are somebody's own, or `distribute` was broken off.
 */
export async function distributeNewTables(trx: Db, before: TablesBefore): Promise<void> {
  if (before === undefined) return;
  const made = (await tablesThere(trx)).filter(({ oid, distributed }) => !before.has(oid) && !distributed);
  await distributeTables(trx, made, undefined, () => {});
}
