import { Unusable } from '@research-mirror/runtime/errors';
import { onlyRow, type Db } from '../connection/db.ts';

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

interface Extension {
  readonly version: string | null;
  readonly available: boolean;
}

interface Member {
  readonly address: string;
  readonly group: number;
  readonly active: boolean;
  readonly takesShards: boolean;
}

/**
 * The cluster that this database coordinates, every node of it reachable from every other, and of the same time.
 * @throws Unusable with the remedy where there is none that the mirror can be distributed over
 */
export async function readCluster(db: Db): Promise<CitusCluster> {
  const extension = onlyRow(
    await db.sql<Extension>`
      select (select extversion from pg_extension where extname = 'citus') as version,
        exists (select 1 from pg_available_extensions where name = 'citus') as available`,
  );
  const { version } = extension;
  if (version === null) {
    throw new Unusable(
      `${extension.available ? 'this database lacks the extension citus, which the server has' : 'this server has no Citus'}; nothing was touched. ${REMEDY}`,
    );
  }
  if (Number.parseInt(version, 10) < OLDEST_CITUS) {
    throw new Unusable(
      `this is Citus ${version}: distributing needs ${OLDEST_CITUS} or newer; nothing was touched`,
    );
  }
  const { rows: members } = await db.sql<Member>`
    select nodename || ':' || nodeport as address, groupid as "group", isactive as active, shouldhaveshards as "takesShards"
    from pg_dist_node where noderole = 'primary' order by groupid`;
  if (!members.some(({ group }) => group === 0)) {
    throw new Unusable(`the workers do not know this coordinator; nothing was touched. ${REMEDY}`);
  }
  const here = await db.sql<{ coordinator: boolean }>`select citus_is_coordinator() as coordinator`;
  if (!onlyRow(here).coordinator) {
    throw new Unusable(
      `this is a worker of the cluster: set DATABASE_URL to its coordinator${at(members)}; nothing was touched`,
    );
  }
  const workers = members.filter(({ active, takesShards }) => active && takesShards);
  if (workers.length === 0) {
    throw new Unusable(`no active node of the cluster takes shards; nothing was touched. ${REMEDY}`);
  }
  await checkHealth(db);
  await checkClocks(db, workers);
  return { version, workers: workers.map(({ address }) => address) };
}

async function checkHealth(db: Db): Promise<void> {
  const { rows } = await db.sql<{ from: string; to: string }>`
    select from_nodename || ':' || from_nodeport as from, to_nodename || ':' || to_nodeport as to
    from citus_check_cluster_node_health() where result is not true`;
  if (rows.length === 0) return;
  const broken = rows.map(({ from, to }) => `${from} to ${to}`).join(', ');
  throw new Unusable(
    `nodes of the cluster do not reach each other as this login (${broken}); nothing was touched. ` +
      'Start them, or let the login in (pg_hba.conf, pg_dist_authinfo), and say it again',
  );
}

/** By so many milliseconds the nodes' clocks may differ: well below what the rate limit keeps in hand for clocks. */
const MOST_SKEW = 100;
/** The answer that was on its way for the shortest time says most. */
const CLOCK_READINGS = 3;

/**
 * An account's slots are written by the clock of its node (docs/scaling.md, "When one Postgres is outgrown: Citus step by step"), which changes when its
 * shard moves. Only what is certain counts against a node: a reading that took long says little.
 */
async function checkClocks(db: Db, workers: readonly Member[]): Promise<void> {
  const skews = new Map<string, number>();
  for (let reading = 0; reading < CLOCK_READINGS; reading += 1) {
    const before = await coordinatorTime(db);
    const { rows } = await db.sql<{ address: string; ok: boolean; result: string }>`
      select nodename || ':' || nodeport as address, success as ok, result
      from run_command_on_workers('select extract(epoch from clock_timestamp()) * 1000')`;
    const after = await coordinatorTime(db);
    for (const { address, ok, result } of rows) {
      if (!ok || !workers.some((worker) => worker.address === address)) continue;
      const skew = certainSkew(Number(result), before, after);
      if (Math.abs(skew) >= Math.abs(skews.get(address) ?? 0)) skews.set(address, skew);
    }
  }
  const wrong = [...skews].filter(([, skew]) => Math.abs(skew) > MOST_SKEW);
  if (wrong.length === 0) return;
  const differences = wrong
    .map(
      ([address, skew]) =>
        `${address} is ${(Math.abs(skew) / 1000).toFixed(1)} s ${skew > 0 ? 'ahead' : 'behind'}`,
    )
    .join(', ');
  throw new Unusable(
    `clocks of the cluster's nodes differ by more than ${MOST_SKEW} ms from the coordinator's (${differences}); nothing was touched. ` +
      'Have all of them follow the same time servers (NTP, for example chrony), and say it again',
  );
}

/** Epoch milliseconds. */
async function coordinatorTime(db: Db): Promise<number> {
  const found = await db.sql<{
    ms: number;
  }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`;
  return onlyRow(found).ms;
}

/** Milliseconds by which a clock read between the two moments is ahead of theirs (or behind: below 0), at least. */
function certainSkew(read: number, before: number, after: number): number {
  return read > after ? read - after : Math.min(0, read - before);
}

function at(members: readonly Member[]): string {
  const coordinator = members.find(({ group }) => group === 0);
  return coordinator === undefined ? '' : ` (${coordinator.address})`;
}

/**
 * Logins that may use the mirror, and that some worker does not have: their queries fail there. Citus makes roles on all
 * nodes that are made once it is there, but not those that were there before.
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
