/** `distribute`: the mirror's tables over a Citus cluster. */

import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { sql } from 'kysely';
import { MIGRATIONS, programVersion } from '../config/program.ts';
import { recreateDependents, takeTurn } from '../mirror/table-columns.ts';
import * as citus from '../postgres/citus.ts';
import { type Db, onlyRow } from '../postgres/db.ts';
import { logAct, type Operator, operatorOn } from '../postgres/operator-log.ts';
import { retried, type Retrying } from '../postgres/retried.ts';
import { lockMigrations, MIGRATION_BOUNDS, unknownMigrations } from '../postgres/run-migrations.ts';
import { readCount } from '../terminal/given.ts';
import { onMirror } from '../terminal/open-mirror.ts';
import { EXIT, type Options, type Shell, widthOfTerminal } from '../terminal/shell.ts';
import { formatList } from '../terminal/text-table.ts';

export async function distributeAction(
  shell: Shell,
  { dryRun = false, shards: given, json = false }: Options<'dryRun' | 'json', 'shards'>,
) {
  const shards = given === undefined ? undefined : readCount('--shards', given, 99_999);
  const options = { which: 'own', bounds: MIGRATION_BOUNDS, direct: true } as const;
  return onMirror(shell, 'distribute', options, async ({ db }) => {
    const onStep = (words: string): unknown => shell.err.write(`${words} …\n`);
    const context = { ...shell, db, onStep, by: await operatorOn(db) };
    const report = await runDistribute(context, { dryRun, shards });
    shell.out.write(json ? `${JSON.stringify(report)}\n` : describe(report, widthOfTerminal(shell.out)));
    return report.leftOvers.length > 0 ? EXIT.FAILED : EXIT.DONE;
  });
}

/** The plan as a table, what was or would be distributed, and what is left to do. */
function describe(report: DistributeReport, width: number | undefined): string {
  const { version, workers, shards, tables, pauseMs, leftOvers, missingLogins } = report;
  const rows = tables.map((each) => ({
    table: each.name,
    rows: each.rows === null ? each.outcome : formatCount(each.rows),
  }));
  const done = tables.every(({ outcome }) => outcome === 'there') ? 'already distributed: ' : '';
  const into = `${countOf(tables.length, 'table')} in ${countOf(shards, 'shard')}`;
  const cluster = `Citus ${version}, ${countOf(workers.length, 'node')} with shards (${workers.join(', ')})`;
  const pause = pauseMs === null ? '' : `; writes waited ${(pauseMs / 1000).toFixed(1)} s`;
  return [
    `${formatList(rows, width)}${done}${into}; ${cluster}${pause}\n`,
    ...leftOvers.map(
      (name) =>
        `${name}: its old rows are still on the coordinator, hidden, since a session keeps reading it. Run "research-mirror distribute" again later\n`,
    ),
    ...missingLogins.map(
      (name) =>
        `login ${name} is missing on some workers and can read nothing there. On each of them, run: ` +
        'SET citus.enable_create_role_propagation = off; CREATE ROLE … LOGIN IN ROLE …, as on the coordinator\n',
    ),
  ].join('');
}

/** Looks for old transactions, one each second. With the attempts: 90 s. */
const LOOKS = 60;
/** For locks on tables, in ms: daemons' writes wait behind an attempt. */
const PATIENCE = { attempts: 10, lockMs: 2_000, backOff: 250 };
/** For each table whose old rows are still there: the mirror works all the same. */
const LESS_PATIENCE = { ...PATIENCE, attempts: 3 };

/** `db` was opened with `MIGRATION_BOUNDS`, past a pooler. `onStep` gets the next step, or whom it waits for. */
type DistributeContext = Required<Pick<Retrying, 'db' | 'clock' | 'signal' | 'onStep'>> & {
  readonly by: Operator;
};

export type DistributeReport = Awaited<ReturnType<typeof runDistribute>>;

/**
 * Distributes a mirror on the coordinator of a Citus cluster, in one transaction, then removes the hidden old rows
 * there. Repeating it continues what is left. Daemons may write; their pages wait.
 * @param options `shards` undefined: `citus.shard_count`
 * @throws Unusable, nothing touched; DatabaseUnavailable; the signal's reason between two tables, nothing changed
 */
export async function runDistribute(
  context: DistributeContext,
  { dryRun, shards }: { readonly dryRun: boolean; readonly shards: number | undefined },
) {
  const { db } = context;
  await checkMigrations(db);
  const cluster = await citus.readCluster(db);
  const plan = await citus.tablesOfAccounts(db);
  const obstacles = plan
    .filter(({ distributed }) => !distributed)
    .flatMap(({ name, obstacles: all }) => all.map((each) => `${each} of ${name}`));
  if (obstacles.length > 0) {
    throw citus.refused(
      `Citus can't distribute a table that has a foreign key, a trigger, another owner, or a unique index without _user_id: ${obstacles.join(', ')}`,
      'Drop what was added to the mirror, then run distribute again as the login that migrates',
    );
  }
  const due = plan.filter(({ distributed }) => !distributed).map(({ name }) => name);
  const spread = dryRun || due.length === 0 ? undefined : await distribute(context, due, shards);
  const cleared = dryRun ? undefined : await followAndClear(context);
  // Another process may have distributed them meanwhile.
  const done = dryRun ? due : (spread?.value ?? []);
  const attempts = spread === undefined || done.length === 0 ? 0 : spread.attempts;
  const pauseMs = (attempts === 0 ? 0 : (spread?.tookMs ?? 0)) + (cleared?.tookMs ?? 0);
  const tables = [];
  for (const { name } of plan) {
    const here = done.includes(name);
    const change = dryRun ? 'would be distributed' : 'distributed';
    const outcome: 'there' | typeof change = here ? change : 'there';
    const counted = here && (await db.sql<{ n: number }>`select count(*)::float8 as n from ${sql.raw(name)}`);
    tables.push({ name, rows: counted === false ? null : onlyRow(counted).n, outcome });
  }
  const inParts = await db.sql<{ n: number }>`
    select coalesce(
      (select shard_count::int from citus_tables where table_name = ${plan[0]?.name ?? null}::regclass),
      ${shards ?? null}::int, current_setting('citus.shard_count')::int) as n`;
  return {
    ...cluster,
    shards: onlyRow(inParts).n,
    /** `rows` is null for a table that was distributed before (`there`). */
    tables,
    /** Longest wait of writes in all attempts, ms; null: no write waited. */
    pauseMs: pauseMs === 0 ? null : pauseMs,
    /** Attempts in which tables were locked. */
    attempts,
    /** Logins of the mirror that some worker lacks. */
    missingLogins: await citus.loginsMissingOnWorkers(db),
    /** Tables whose old, hidden rows are still on the coordinator, since a session keeps reading them. */
    leftOvers: cleared?.leftOvers ?? [],
  };
}

/** An older program does not know the tables of later migrations, and would leave them behind. @throws Unusable */
async function checkMigrations(db: Db): Promise<void> {
  const unknown = await unknownMigrations(db, MIGRATIONS);
  if (unknown.length === 0) return;
  throw citus.refused(
    `the database is newer than this program: research-mirror ${programVersion()} does not know the tables of ${unknown.join(', ')}`,
    'Run distribute with the newest program',
  );
}

/** Waits until no long transaction writes the tables or makes an index. Others do not have to wait behind this. */
async function longTransactionsEnd({ db, clock, signal, onStep }: DistributeContext, names: string[]) {
  for (let look = 0; look < LOOKS; look += 1) {
    const { rows } = await db.sql<{ who: string }>`
      select format('%s has %s', coalesce('pid ' || l.pid, 'a prepared one'), l.relation::regclass) as who
      from pg_locks l left join pg_stat_activity a on a.pid = l.pid
      where l.granted and l.mode <> 'AccessShareLock' and l.relation = any(${names}::regclass[])
        and l.database = (select oid from pg_database where datname = current_database())
        and (l.pid is null or a.backend_type = 'client backend' and a.xact_start < clock_timestamp() - interval '1 s')
      order by 1 limit 1`;
    const who = rows[0]?.who;
    if (who === undefined) return;
    if (look === 0) onStep(`waiting for a long transaction: ${who}`);
    await clock.sleep(1_000, signal);
  }
}

/** @returns names of the tables that were distributed here */
async function distribute(context: DistributeContext, tables: string[], shards: number | undefined) {
  const failure = 'the mirror was not distributed, and nothing was changed';
  const { signal, onStep } = context;
  await longTransactionsEnd(context, tables);
  return retried({ ...context, patience: PATIENCE, failure }, async (trx) => {
    // Keeps others from migrating and adding columns.
    await lockMigrations(trx);
    await checkMigrations(trx);
    await takeTurn(trx);
    await trx.raw(`set local lock_timeout = ${PATIENCE.lockMs}`);
    const due = (await citus.tablesOfAccounts(trx)).filter(({ distributed }) => !distributed);
    if (due.length === 0) return [];
    onStep('waiting for the daemon’s writes');
    // This is the first lock of every page's transaction: a transaction that holds it needs none of the tables that are
    // locked here, so there is no deadlock.
    await trx.sql`lock table only ${trx.stateTable('account')} in exclusive mode`;
    for (const { name } of due) await trx.sql`lock table only ${sql.raw(name)} in exclusive mode`;
    for (const table of due) {
      signal.throwIfAborted();
      onStep(`distributing ${table.name}`);
      await citus.distributeTable(trx, table, shards);
    }
    const given = { tables: due.length, shards: shards ?? null };
    await logAct(trx, context.by, { act: 'distribute', given });
    onStep('committing on all nodes');
    return due.map(({ name }) => name);
  });
}

/**
 * Makes the views for distributed tables, and removes the hidden old rows on the coordinator. Separate transactions: a
 * session that reads a view for long must not roll back what was copied.
 */
async function followAndClear(context: DistributeContext) {
  const failure = 'the views changes and companies fail until you run distribute again';
  await retried({ ...context, patience: PATIENCE, failure }, async (trx) => {
    await takeTurn(trx);
    await trx.raw(`set local lock_timeout = ${PATIENCE.lockMs}`);
    await recreateDependents(trx);
  });
  let tookMs = 0;
  const leftOvers: string[] = [];
  for (const { name, distributed, bytesHere } of await citus.tablesOfAccounts(context.db)) {
    if (!distributed || bytesHere <= EMPTY_TABLE_BYTES) continue;
    try {
      const clearing = await retried(
        { ...context, patience: LESS_PATIENCE, failure: name },
        (trx) => trx.sql`select truncate_local_data_after_distributing_table(${name}::regclass)`,
      );
      tookMs += clearing.tookMs;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      leftOvers.push(name);
      tookMs += LESS_PATIENCE.attempts * LESS_PATIENCE.lockMs;
    }
  }
  return { tookMs, leftOvers };
}

/** Most bytes of a table without rows: the first page of its TOAST table's index. */
const EMPTY_TABLE_BYTES = 8_192;
