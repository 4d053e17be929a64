import { Unusable } from '@research-mirror/runtime/errors';
import type { Db } from './db.ts';

/** A table of the mirror whose rows a copy has. */
export interface CopiedTable {
  /** `mirror`: `<schema>`; `state`: `<schema>_sync`. */
  readonly schema: 'mirror' | 'state';
  readonly name: string;
  /** Columns that stay behind. */
  readonly without?: readonly string[];
}

const MIRRORED = ['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'];

/** Reasons for what stays behind: docs/operations.md, "Copy". A test compares these tables with all that there are. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  ...tablesOf('mirror', '_columns', '_collections', '_conflicts'),
  ...MIRRORED.flatMap((name) => tablesOf('mirror', name, `${name}_history`)),
  ...tablesOf(
    'mirror',
    'events',
    'forgotten',
    'operator_log',
    'quarantine',
    'recoveries',
    'submissions',
    'sync_log',
    'webhook',
  ),
  { schema: 'state', name: 'registration', without: ['secret', 'previous_secret'] },
  ...tablesOf('state', 'account', 'backfill', 'candidate', 'deletions', 'event_seen', 'hint', 'installation'),
  ...tablesOf('state', 'own_url', 'scope', 'unsettled'),
];

function tablesOf(schema: CopiedTable['schema'], ...names: readonly string[]): CopiedTable[] {
  return names.map((name) => ({ schema, name }));
}

/** Tables that stay behind: keys, slots, processes, rights, what only the original's page shows. */
export const LEFT_BEHIND: readonly CopiedTable[] = [
  ...tablesOf('state', 'api_key', 'first_ping', 'rate_group', 'slot_block'),
  ...tablesOf('state', 'command', 'granted', 'migration', 'problem', 'process'),
];

/** A Citus cluster as the database that is asked shows it. */
export interface CitusCluster {
  /** `13.2-1`. */
  readonly version: string;
  /** `host:port` of each node that takes shards. */
  readonly workers: readonly string[];
}

/** The first version whose tables may have identity columns of bigint: `submissions` has one. */
const OLDEST_CITUS = 12;

const REMEDY =
  'Distributing needs a coordinator and at least one worker: packages of Citus on each node, ' +
  "shared_preload_libraries = 'citus', a restart, and in this database's namesake on each node CREATE EXTENSION citus; " +
  "then, here, SELECT citus_set_coordinator_host('HOST', PORT) and SELECT citus_add_node('WORKER', PORT) for each " +
  'worker (docs/scaling.md, "When one Postgres is outgrown: Citus step by step")';

/** @returns what is thrown before anything is touched */
export function refused(why: string, remedy: string): Unusable {
  return new Unusable(`${why}; nothing was touched. ${remedy}`);
}

/**
 * The cluster that this database coordinates, every node of it reachable from every other, and of the same time.
 * @throws Unusable with the remedy where there is none that the mirror can be distributed over
 */
export async function readCluster(db: Db): Promise<CitusCluster> {
  const { rows: extensions } = await db.sql<{ version: string }>`
    select extversion as version from pg_extension where extname = 'citus'`;
  const version = extensions[0]?.version;
  if (version === undefined) throw refused('this database lacks the extension citus', REMEDY);
  if (Number.parseInt(version, 10) < OLDEST_CITUS) {
    throw refused(`this is Citus ${version}`, `Distributing needs ${OLDEST_CITUS} or newer`);
  }
  const { rows: nodes } = await db.sql<{ address: string; first: boolean; here: boolean; takes: boolean }>`
    select nodename || ':' || nodeport as address, groupid = 0 as first, citus_is_coordinator() as here,
      isactive and shouldhaveshards as takes
    from pg_dist_node where noderole = 'primary' order by groupid`;
  const coordinator = nodes.find(({ first }) => first);
  if (coordinator === undefined) throw refused('the workers do not know this coordinator', REMEDY);
  if (!coordinator.here) {
    throw refused(
      'this is a worker of the cluster',
      `Set DATABASE_URL to its coordinator (${coordinator.address})`,
    );
  }
  const workers = nodes.filter(({ takes }) => takes).map(({ address }) => address);
  if (workers.length === 0) throw refused('no active node of the cluster takes shards', REMEDY);
  await checkReach(db);
  await checkClocks(db, workers);
  return { version, workers };
}

async function checkReach(db: Db): Promise<void> {
  const { rows } = await db.sql<{ between: string }>`
    select format('%s:%s to %s:%s', from_nodename, from_nodeport, to_nodename, to_nodeport) as between
    from citus_check_cluster_node_health() where result is not true`;
  if (rows.length === 0) return;
  throw refused(
    `nodes of the cluster do not reach each other as this login (${rows.map(({ between }) => between).join(', ')})`,
    'Start them, or let the login in (pg_hba.conf, pg_dist_authinfo), and say it again',
  );
}

/** By so many milliseconds the nodes' clocks may differ: well below what the rate limit keeps in hand for clocks. */
const MOST_SKEW = 100;

/**
 * An account's slots are written by the clock of its node (docs/scaling.md, "When one Postgres is outgrown: Citus step
 * by step"), which changes when its shard moves. Only what is certain counts against a node: by how much its clock was
 * ahead of the coordinator's after it was read, or behind the one before.
 */
async function checkClocks(db: Db, workers: readonly string[]): Promise<void> {
  const wrong = new Map<string, string>();
  // Three times: the answer that was on its way for the shortest time says most.
  for (let reading = 0; reading < 3; reading += 1) {
    const { rows } = await db.sql<{ address: string; skew: number }>`
      select x.address, x.there - least(greatest(x.there, x.before), x.after) as skew
      from (
        select nodename || ':' || nodeport as address, result::float8 as there,
          (extract(epoch from statement_timestamp()) * 1000)::float8 as before,
          (extract(epoch from clock_timestamp()) * 1000)::float8 as after
        from run_command_on_workers('select extract(epoch from clock_timestamp()) * 1000') where success) as x`;
    for (const { address, skew } of rows) {
      if (Math.abs(skew) <= MOST_SKEW || !workers.includes(address)) continue;
      const seconds = (Math.abs(skew) / 1000).toFixed(1);
      wrong.set(address, `${address} is ${seconds} s ${skew > 0 ? 'ahead' : 'behind'}`);
    }
  }
  if (wrong.size === 0) return;
  throw refused(
    `clocks of the cluster's nodes differ by more than ${MOST_SKEW} ms from the coordinator's (${[...wrong.values()].join(', ')})`,
    'Have all of them follow the same time servers (NTP, for example chrony), and say it again',
  );
}

/**
 * Logins that may use the mirror, and that some worker does not have: their queries fail there. Citus makes roles on
 * all nodes that are made once it is there, but not those that were there before.
 */
export async function loginsMissingOnWorkers(db: Db): Promise<readonly string[]> {
  const { rows } = await db.sql<{ name: string }>`
    select r.rolname as name from pg_roles r
    where r.rolcanlogin and has_schema_privilege(r.oid, ${db.schema}, 'usage')
      and exists (
        select 1 from run_command_on_workers(format('select count(*) from pg_roles where rolname = %L', r.rolname)) as c
        where c.success and c.result = '0')
    order by 1`;
  return rows.map(({ name }) => name);
}

/** A table of accounts: its primary key contains `_user_id`, so Citus can spread it by account. */
export interface TableOfAccounts {
  /** `mirror.account`, `state.scope`, whatever the schema's name is. */
  readonly place: string;
  /** Schema and name, quoted, as SQL and `regclass` read them. */
  readonly name: string;
  readonly distributed: boolean;
  /** Bytes of its rows that lie on this server itself; of a distributed one: what is left of it from before. */
  readonly bytesHere: number;
  /**
   * Constraints and unique indexes without `_user_id`, and triggers: Citus distributes no table that has one. An owner
   * whose rights the login lacks.
   */
  readonly obstacles: readonly string[];
}

/** Whether this database has Citus: its catalogue is there. */
export async function hasCitus(db: Db): Promise<boolean> {
  const { rows } = await db.sql`select 1 where to_regclass('pg_dist_partition') is not null`;
  return rows.length > 0;
}

/** Beside its shards those of all other tables lie. */
const FIRST = 'mirror.account';

/** All tables that this version's mirror has. What else lies in its schemas is somebody's own, and stays as it is. */
const OWN: ReadonlySet<string> = new Set(
  [...COPIED_TABLES, ...LEFT_BEHIND].map(({ schema, name }) => `${schema}.${name}`),
);

/** The mirror's tables of accounts, `<schema>.account` first. For a database that has Citus. */
export async function tablesOfAccounts(db: Db): Promise<readonly TableOfAccounts[]> {
  return (await tablesThere(db)).filter(({ place }) => OWN.has(place));
}

/** Everything in the mirror's schemas that looks like a table of accounts. */
async function tablesThere(db: Db): Promise<readonly TableOfAccounts[]> {
  const { rows } = await db.sql<TableOfAccounts>`
    select case n.nspname when ${db.schema} then 'mirror.' else 'state.' end || c.relname as place,
      format('%I.%I', n.nspname, c.relname) as name,
      exists (select 1 from pg_dist_partition d where d.logicalrelid = c.oid) as distributed,
      pg_table_size(c.oid)::float8 as "bytesHere",
      array(
        select i.indexrelid::regclass::text from pg_index i
        where i.indrelid = c.oid and (i.indisunique or i.indisexclusion)
          -- Without what it only includes.
          and not a.attnum = any((i.indkey::int2[])[0:i.indnkeyatts - 1])
        union all
        select conname from pg_constraint where contype = 'f' and c.oid in (conrelid, confrelid)
        union all
        select tgname from pg_trigger where tgrelid = c.oid and not tgisinternal
        union all
        select format('the owner %s', c.relowner::regrole) where not pg_has_role(c.relowner, 'usage')
        order by 1) as obstacles
    from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attname = '_user_id' and not a.attisdropped
    where n.nspname in (${db.schema}, ${db.stateSchema}) and c.relkind = 'r'
      -- api_key knows the owner but is found by the key alone.
      and exists (select 1 from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any(i.indkey))
    order by c.relname <> 'account' or n.nspname <> ${db.schema}, c.oid`;
  return rows;
}

/**
 * Spreads a table over the nodes by `_user_id`, its rows with it: whoever writes to it waits until the transaction
 * ends. `<schema>.account` is the first one.
 * @param shards into how many parts accounts are spread; undefined: as the server is set
 */
export async function distributeTable(trx: Db, table: TableOfAccounts, shards?: number): Promise<void> {
  const { place, name } = table;
  await (place === FIRST
    ? // 'none': never beside the tables of another program, with which it would have to move.
      trx.sql`select create_distributed_table(${name}, '_user_id', colocate_with => 'none',
        shard_count => coalesce(${shards ?? null}::int, current_setting('citus.shard_count')::int))`
    : trx.sql`select create_distributed_table(${name}, '_user_id', colocate_with => ${`"${trx.schema}".account`})`);
}

/**
 * The places of tables of accounts, to be called in a migration's transaction, before the migration.
 * @returns undefined where none is to be distributed: `account` is not
 */
export async function tablesBefore(trx: Db): Promise<ReadonlySet<string> | undefined> {
  const tables = (await hasCitus(trx)) ? await tablesThere(trx) : [];
  const spread = tables.some(({ place, distributed }) => place === FIRST && distributed);
  return spread ? new Set(tables.map(({ place }) => place)) : undefined;
}

/**
 * On Citus, distributes what a migration has made of tables of accounts, where `account` is distributed
 * (docs/design/sql.md, "Rule 2"): a page's commit over a local and a distributed table would not be atomic. Does
 * nothing elsewhere, and nothing to tables that were there: they are somebody's own, or `distribute` was broken off.
 */
export async function distributeNewTables(trx: Db, before: ReadonlySet<string> | undefined): Promise<void> {
  if (before === undefined) return;
  for (const table of await tablesThere(trx)) {
    if (!before.has(table.place) && !table.distributed) await distributeTable(trx, table);
  }
}
