import { sql } from 'kysely';
import type { Clock } from '@research-mirror/runtime/clock';
import { Unusable } from '@research-mirror/runtime/errors';
import type { Db } from '../../db/connection/db.ts';
import {
  type CitusCluster,
  loginsMissingOnWorkers,
  readCluster,
} from '../../db/distribution/citus-cluster.ts';
import {
  distributeTables,
  type TableOfAccounts,
  tablesOfAccounts,
} from '../../db/distribution/tables-of-accounts.ts';
import { lockMigrations, unknownMigrations } from '../../db/migrations/run-migrations.ts';
import { remakeFollowers, takeTurn } from '../../mirror/columns/follow-columns.ts';
import { MIGRATIONS, programVersion } from '../program-files.ts';
import { TABLE_WAIT, TableLocks } from './table-locks.ts';

export interface DistributeContext {
  /** Opened with `MIGRATION_BOUNDS`, past a pooler: moving millions of rows takes minutes. */
  readonly db: Db;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Hears what is about to be done, and for whom it waits. */
  readonly onStep: (words: string) => void;
}

export interface DistributeOptions {
  /** Only looks. */
  readonly dryRun: boolean;
  /** Into how many parts accounts are spread; undefined: `citus.shard_count`. */
  readonly shards: number | undefined;
}

/** A table and what is in it. */
export interface DistributedTable {
  readonly name: string;
  /** Of one that was not distributed before: its rows; else null. */
  readonly rows: number | null;
  /** Before, on the coordinator. */
  readonly bytes: number;
  /** `there`: it was distributed before. */
  readonly outcome: 'there' | 'distributed' | 'would be distributed';
}

export interface DistributeReport extends CitusCluster {
  readonly shards: number;
  readonly tables: readonly DistributedTable[];
  /** For how long writes waited, all attempts together, in milliseconds; null where nothing kept them waiting. */
  readonly pauseMs: number | null;
  /** In how many attempts tables were locked: between them writes went on. 0 where no table was distributed. */
  readonly attempts: number;
  /** Logins that may use the mirror, and that some worker lacks: an administrator makes them there. */
  readonly missingLogins: readonly string[];
  /** Tables whose old rows still lie on the coordinator, hidden: somebody reads them without end. */
  readonly leftOvers: readonly string[];
}

/**
 * Makes a plain mirror on the coordinator of a Citus cluster a distributed one, in one transaction: a crash leaves all
 * of it or nothing. Then clears away what was left of its rows on the coordinator, which nobody sees any more. What is
 * done is not done again. Daemons may write meanwhile: their pages wait.
 * @throws Unusable, nothing touched; DatabaseUnavailable; the signal's reason between two tables, nothing changed
 */
export async function runDistribute(
  context: DistributeContext,
  { dryRun, shards }: DistributeOptions,
): Promise<DistributeReport> {
  const { db } = context;
  await checkMigrations(db);
  const cluster = await readCluster(db);
  const before = await tablesOfAccounts(db);
  check(before);
  let due = before.filter(({ distributed }) => !distributed);
  const locks = new TableLocks(context);
  const clearing = new TableLocks(context);
  let leftOvers: readonly string[] = [];
  if (!dryRun) {
    if (due.length > 0) {
      const done = await locks.repeat(
        { tables: due.map(({ name }) => name), lock: 'exclusive', otherwise: 'nothing was changed' },
        (trx, locking) => distribute(trx, context, { shards, locking }),
      );
      // Another one may have been faster.
      due = before.filter(({ name }) => done.has(name));
    }
    // In a transaction of its own: who reads a view for long would have all that was copied thrown away.
    await new TableLocks(context).repeat(
      {
        tables: [`${db.schema}.changes`, `${db.schema}.companies`],
        lock: 'access exclusive',
        otherwise: 'the views changes and companies fail before: say distribute again',
      },
      async (trx) => {
        await takeTurn(trx);
        await trx.raw(`set local lock_timeout = '${TABLE_WAIT}'`);
        await remakeFollowers(trx);
      },
    );
    leftOvers = await clearAway(db, clearing);
  }
  const rows = await countRows(db, due);
  return {
    ...cluster,
    shards: await shardCount(db, before, shards),
    tables: before.map(({ name, bytesHere }) => ({
      name,
      rows: rows.get(name) ?? null,
      bytes: bytesHere,
      outcome: !rows.has(name) ? 'there' : dryRun ? 'would be distributed' : 'distributed',
    })),
    pauseMs: locks.attempts + clearing.attempts === 0 ? null : locks.waitedMs + clearing.waitedMs,
    attempts: locks.attempts,
    missingLogins: await loginsMissingOnWorkers(db),
    leftOvers,
  };
}

/**
 * An older program may run on a newer database, but does not know the tables of later migrations: they would stay behind.
 * @throws Unusable
 */
async function checkMigrations(db: Db): Promise<void> {
  const unknown = await unknownMigrations(db, MIGRATIONS);
  if (unknown.length === 0) return;
  throw new Unusable(
    `the database is newer than this program, research-mirror ${programVersion()}, which does not know the tables of ${unknown.join(', ')}; ` +
      'nothing was touched. Run distribute with the newest program',
  );
}

/** @throws Unusable where a table can't be distributed as it is */
function check(tables: readonly TableOfAccounts[]): void {
  const foreign = tables.filter(({ ours }) => !ours);
  if (foreign.length > 0) {
    throw new Unusable(
      `the login of DATABASE_URL does not own ${listed(foreign)}; nothing was touched. Say it as the login that migrates`,
    );
  }
  const obstacles = tables.flatMap(({ name, distributed, obstacles: all }) =>
    distributed ? [] : all.toSorted().map((each) => `${each} of ${name}`),
  );
  if (obstacles.length > 0) {
    throw new Unusable(
      `Citus distributes no table with a unique index that lacks _user_id, a foreign key or a trigger: ` +
        `${obstacles.join(', ')}; nothing was touched. Drop what was added to the mirror, and say it again`,
    );
  }
}

function listed(tables: readonly TableOfAccounts[]): string {
  return tables.map(({ name }) => name).join(', ');
}

/** @returns what was distributed here */
async function distribute(
  trx: Db,
  { signal, onStep }: DistributeContext,
  { shards, locking }: Pick<DistributeOptions, 'shards'> & { readonly locking: () => void },
): Promise<ReadonlySet<string>> {
  // Nobody migrates or adds columns meanwhile.
  await lockMigrations(trx);
  await checkMigrations(trx);
  await takeTurn(trx);
  await trx.raw(`set local lock_timeout = '${TABLE_WAIT}'`);
  const due = (await tablesOfAccounts(trx)).filter(({ distributed }) => !distributed);
  if (due.length === 0) return new Set();
  onStep('waiting for the daemon’s writes');
  // First what every page's transaction locks first: who has that needs no table that is locked here, so nobody waits
  // in a circle.
  const fence = trx.stateTable('account');
  locking();
  await trx.sql`lock table only ${fence} in exclusive mode`;
  for (const { name } of due) await trx.sql`lock table only ${sql.raw(name)} in exclusive mode`;
  await distributeTables(trx, due, shards, ({ name }) => {
    signal.throwIfAborted();
    onStep(`distributing ${name}`);
  });
  onStep('committing on all nodes');
  return new Set(due.map(({ name }) => name));
}

/** Of distributed tables: rows from before, which lie on the coordinator and are seen by nobody. @returns what stays */
async function clearAway(db: Db, locks: TableLocks): Promise<readonly string[]> {
  const tables = await tablesOfAccounts(db);
  // A page or two are the table's own: an empty one with a TOAST table has one.
  const full = tables.filter(({ distributed, bytesHere }) => distributed && bytesHere > EMPTY);
  return locks.each(
    full.map(({ name }) => name),
    async (trx, name) => {
      await trx.raw(`set local lock_timeout = '${TABLE_WAIT}'`);
      await trx.sql`select truncate_local_data_after_distributing_table(${name}::regclass)`;
    },
  );
}

/** Bytes of a table without rows, at most: the first page of its TOAST table's index. */
const EMPTY = 8_192;

async function countRows(db: Db, tables: readonly TableOfAccounts[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { name } of tables) {
    const { rows } = await db.sql<{ n: number }>`select count(*)::float8 as n from ${sql.raw(name)}`;
    counts.set(name, rows[0]?.n ?? 0);
  }
  return counts;
}

async function shardCount(
  db: Db,
  tables: readonly TableOfAccounts[],
  wanted: number | undefined,
): Promise<number> {
  const name = tables[0]?.name ?? null;
  const { rows } = await db.sql<{ n: number }>`
    select coalesce(
      (select shard_count::int from citus_tables where table_name = ${name}::regclass), ${wanted ?? null}::int,
      current_setting('citus.shard_count')::int) as n`;
  return rows[0]?.n ?? 0;
}
