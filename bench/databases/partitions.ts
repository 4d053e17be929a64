/**
 * Whether partitions by month would pay for history: versions of research jobs in the table as it is, and in one that is
 * split by `_valid_to` (which its primary key then has to contain); of both, what a page adds, what an analyst asks for,
 * and what the retention removes.
 *
 *     node bench/databases/partitions.ts [--versions 1000000] [--months 24] [--postgres URL]
 */
import type pg from 'pg';
import { openDatabase } from '../../src/postgres/pool.ts';
import { migrate, MIGRATION_BOUNDS } from '../../src/postgres/run-migrations.ts';
import { MIGRATIONS, programVersion } from '../../src/config/program.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { readFlags } from '../support/flags.ts';
import { median, print, printMachine, printTable } from '../support/report.ts';
import { onStage, withClient } from '../support/stage.ts';

const flags = readFlags({ versions: 1_000_000, months: 24, postgres: '' });
const HISTORY = 'mirror.research_jobs_history';
const SPLIT = 'mirror_parts.research_jobs_history';
const PAGE = 500;
/** Pages that are written, rows that are asked for. */
const TIMES = 60;

await onStage(flags.postgres, async (stage) => {
  const url = await stage.database();
  const database = await openDatabase({
    url,
    schema: 'mirror',
    program: 'bench',
    bounds: MIGRATION_BOUNDS,
    max: 1,
  });
  await migrate({ db: database.db, folder: MIGRATIONS, version: programVersion(), clock: systemClock });
  await database.close();
  await withClient(url, async (client) => {
    await client.query(`create schema mirror_parts;
      create table ${SPLIT} (like ${HISTORY} including defaults, primary key (_user_id, job_id, _change_id, _valid_to))
        partition by range (_valid_to);
      create index on ${SPLIT} (_user_id, _valid_to, _change_id)`);
    for (let month = 0; month <= flags.months; month += 1) {
      await client.query(`create table mirror_parts.m${month} partition of ${SPLIT}
        for values from (${monthAt(month)}) to (${monthAt(month + 1)})`);
    }
    const rows: string[][] = [];
    for (const table of [HISTORY, SPLIT]) rows.push(await measure(client, table));
    printMachine();
    print(`${flags.versions} versions of ${flags.versions / 10} jobs over ${flags.months} months`);
    printTable(
      ['', 'a page of versions, ms', 'versions of a job, ms', 'a month of changes, ms', 'a month removed, s'],
      rows,
    );
  });
});

/** The beginning of a month, counted from January 2025, as SQL. */
function monthAt(month: number): string {
  return `'${new Date(Date.UTC(2025, month, 1)).toISOString()}'`;
}

/** The columns that every version has, `n` counting them. */
function insert(table: string, versions: string): string {
  return `insert into ${table} (_user_id, job_id, _first_seen_at, _changed_at, _change_id, _hash, _raw, _valid_from,
      _valid_to, _op)
    select 7, n % ${flags.versions / 10}, moment, moment, n, sha256(n::text::bytea),
      jsonb_build_object('job_id', n, 'status', 'completed', 'text', repeat(md5(n::text), 20)), moment,
      moment + interval '1 hour', 'update'
    from ${versions}`;
}

async function measure(client: pg.Client, table: string): Promise<string[]> {
  const seconds = (flags.months * 30 * 86_400) / flags.versions;
  await client.query(
    insert(
      table,
      `(select n, ${monthAt(0)}::timestamptz + n * interval '${seconds} s' as moment
        from generate_series(1, ${flags.versions}) as n) as v`,
    ),
  );
  await client.query(`vacuum analyze ${table}`);
  const pages = await timed(client, (turn) => {
    const first = flags.versions + turn * PAGE;
    return insert(
      table,
      `(select n, ${monthAt(flags.months - 1)}::timestamptz + n * interval '1 ms' as moment
        from generate_series(${first + 1}, ${first + PAGE}) as n) as v`,
    );
  });
  const jobs = await timed(
    client,
    (turn) => `select * from ${table} where _user_id = 7 and job_id = ${(turn * 7919) % (flags.versions / 10)}`,
  );
  const months = await timed(
    client,
    (turn) => `select count(*), max(_change_id) from ${table} where _user_id = 7
      and _valid_to >= ${monthAt(turn % flags.months)} and _valid_to < ${monthAt((turn % flags.months) + 1)}`,
  );
  const begun = performance.now();
  if (table === SPLIT) await client.query('drop table mirror_parts.m0');
  else {
    await client.query(`delete from ${table} where _user_id = 7 and _valid_to < ${monthAt(1)}`);
    await client.query(`vacuum ${table}`);
  }
  const removed = ((performance.now() - begun) / 1000).toFixed(2);
  return [table === SPLIT ? `${flags.months + 1} partitions` : 'one table', pages, jobs, months, removed];
}

async function timed(client: pg.Client, statement: (turn: number) => string): Promise<string> {
  const took: number[] = [];
  for (let turn = 0; turn < TIMES; turn += 1) {
    const begun = performance.now();
    await client.query(statement(turn));
    took.push(performance.now() - begun);
  }
  return median(took).toFixed(1);
}
