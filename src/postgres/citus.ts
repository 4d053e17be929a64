import { Unusable } from '@research-mirror/runtime/errors';
import type { Db } from './db.ts';

/** A table of `<schema>` (`mirror`) or `<schema>_sync` (`state`). A copy lacks the columns `without`. */
export type CopiedTable = Readonly<{ schema: 'mirror' | 'state'; name: string; without?: readonly string[] }>;

const MIRRORED = ['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'];

/** Tables whose rows a copy has (docs/backups.md, "Copy"). A test checks that LEFT_BEHIND has the rest. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  ...tablesOf('mirror', '_columns', '_collections', '_conflicts'),
  ...MIRRORED.flatMap((name) => tablesOf('mirror', name, `${name}_history`)),
  ...tablesOf('mirror', 'events', 'forgotten', 'operator_log', 'quarantine', 'recoveries'),
  ...tablesOf('mirror', 'submissions', 'sync_log', 'webhook'),
  { schema: 'state', name: 'registration', without: ['secret', 'previous_secret'] },
  ...tablesOf('state', 'account', 'backfill', 'candidate', 'deletions', 'event_seen', 'hint', 'installation'),
  ...tablesOf('state', 'own_url', 'scope', 'unsettled'),
];

function tablesOf(schema: CopiedTable['schema'], ...names: readonly string[]): CopiedTable[] {
  return names.map((name) => ({ schema, name }));
}

/** Tables that a copy leaves empty: keys, slots, processes, rights, told problems. */
export const LEFT_BEHIND: readonly CopiedTable[] = [
  ...tablesOf('state', 'api_key', 'first_ping', 'rate_group', 'slot_block'),
  ...tablesOf('state', 'command', 'granted', 'migration', 'problem', 'process'),
];

/** First version with identity columns of bigint, which `submissions` has. */
const OLDEST_CITUS = 12;

const REMEDY =
  'Distributing needs a coordinator and at least one worker. On each node, install the packages of Citus, set ' +
  "shared_preload_libraries = 'citus', restart, and run CREATE EXTENSION citus in the database of this name. " +
  "Then run here SELECT citus_set_coordinator_host('HOST', PORT) and, for each worker, " +
  "SELECT citus_add_node('WORKER', PORT) " +
  '(docs/citus.md, "Distribute a mirror, step by step")';

/** An error thrown before anything is changed. */
export function refused(why: string, remedy: string): Unusable {
  return new Unusable(`${why}; nothing was touched. ${remedy}`);
}

/**
 * Reads the cluster that this database coordinates.
 * @returns the version of Citus (`13.2-1`), and `host:port` of each node that takes shards
 * @throws Unusable with the remedy: it lacks nodes, they don't reach each other, or their clocks differ
 */
export async function readCluster(db: Db) {
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
    throw refused('this is a worker of the cluster', `Set DATABASE_URL to its coordinator (${coordinator.address})`);
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
    `nodes of the cluster can’t reach each other with this login (${rows.map(({ between }) => between).join(', ')})`,
    'Start them, or let the login in (pg_hba.conf, pg_dist_authinfo), and run the command again',
  );
}

/** Largest difference between the nodes' clocks, ms: well below the margin of the rate limit for clocks. */
const MOST_SKEW = 100;

/**
 * Compares the workers' clocks with the coordinator's: a node's clock stamps the slots of its accounts, which may move
 * to another node (docs/citus.md). What the query's duration may explain does not count.
 */
async function checkClocks(db: Db, workers: readonly string[]): Promise<void> {
  const wrong = new Map<string, string>();
  // Three readings: the fastest answer is the most precise one.
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
    'Have all of them follow the same time servers (NTP, for example chrony), and run the command again',
  );
}

/** Logins of the mirror that a worker lacks: Citus copies new roles to all nodes, but none older than the extension. */
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

/** Whether this database has Citus. */
export async function hasCitus(db: Db): Promise<boolean> {
  const { rows } = await db.sql`select 1 where to_regclass('pg_dist_partition') is not null`;
  return rows.length > 0;
}

/** The other tables' shards lie beside this one's. */
const ACCOUNT_TABLE = 'mirror.account';

/** Tables of this version's mirror. All others in its schemas are a user's own and stay as they are. */
const OWN = new Set([...COPIED_TABLES, ...LEFT_BEHIND].map(({ schema, name }) => `${schema}.${name}`));

/** The mirror's tables of accounts, `<schema>.account` first. For a database that has Citus. */
export async function tablesOfAccounts(db: Db): Promise<readonly TableOfAccounts[]> {
  return (await tablesThere(db)).filter(({ place }) => OWN.has(place));
}

export type TableOfAccounts = Awaited<ReturnType<typeof tablesThere>>[number];

/** Tables of accounts in the mirror's schemas: their primary keys contain `_user_id`, so Citus can distribute by it. */
async function tablesThere(db: Db) {
  const { rows } = await db.sql<{
    /** `mirror.account`, `state.scope`, whatever the schema's name is. */
    place: string;
    /** Schema and name, quoted, as SQL and `regclass` read them. */
    name: string;
    distributed: boolean;
    /** Bytes on this server; of a distributed table: rows that the distribution left here. */
    bytesHere: number;
    /** What keeps Citus from distributing it: keys without `_user_id`, triggers, an owner whose rights are missing. */
    obstacles: readonly string[];
  }>`
    select case n.nspname when ${db.schema} then 'mirror.' else 'state.' end || c.relname as place,
      format('%I.%I', n.nspname, c.relname) as name,
      exists (select 1 from pg_dist_partition d where d.logicalrelid = c.oid) as distributed,
      pg_table_size(c.oid)::float8 as "bytesHere",
      array(
        select i.indexrelid::regclass::text from pg_index i
        where i.indrelid = c.oid and (i.indisunique or i.indisexclusion)
          -- Key columns only.
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
      -- Not api_key: its primary key is the key alone.
      and exists (select 1 from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any(i.indkey))
    order by c.relname <> 'account' or n.nspname <> ${db.schema}, c.oid`;
  return rows;
}

/**
 * Distributes a table and its rows by `_user_id`; writers wait until the transaction ends. `<schema>.account` is first.
 * @param shards number of parts; undefined: the server's setting
 */
export async function distributeTable(trx: Db, table: TableOfAccounts, shards?: number): Promise<void> {
  const { place, name } = table;
  await (place === ACCOUNT_TABLE
    ? // 'none': beside another program's tables it would have to move with them.
      trx.sql`select create_distributed_table(${name}, '_user_id', colocate_with => 'none',
        shard_count => coalesce(${shards ?? null}::int, current_setting('citus.shard_count')::int))`
    : trx.sql`select create_distributed_table(${name}, '_user_id', colocate_with => ${`"${trx.schema}".account`})`);
}

/** Places of the tables of accounts before a migration, in its transaction; undefined: `account` is not distributed. */
export async function tablesBefore(trx: Db): Promise<ReadonlySet<string> | undefined> {
  const tables = (await hasCitus(trx)) ? await tablesThere(trx) : [];
  const spread = tables.some(({ place, distributed }) => place === ACCOUNT_TABLE && distributed);
  return spread ? new Set(tables.map(({ place }) => place)) : undefined;
}

/**
 * Distributes the tables of accounts that a migration has made, if `account` is distributed: a commit over local and
 * distributed tables would not be atomic (docs/design/sql.md, "Rule 2"). Older tables stay as they are: they are a
 * user's own, or `distribute` was interrupted.
 */
export async function distributeNewTables(trx: Db, before: ReadonlySet<string> | undefined): Promise<void> {
  if (before === undefined) return;
  for (const table of await tablesThere(trx)) {
    if (!before.has(table.place) && !table.distributed) await distributeTable(trx, table);
  }
}
