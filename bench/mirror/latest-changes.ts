/**
 * What the status page's latest changes and waiting deletions cost the database (docs/watch.md, "The status page"):
 * each is asked again every few seconds while a page is open and rows change. Rows are filled in by SQL: one account
 * with `--jobs` research jobs and a fifth as many list items, 5,000 of the jobs changed since; then a first load of
 * 100,000 rows in the last ten minutes; then 200,000 suspected deletions.
 * Medians of nine; `--plans 1` prints the plans, too.
 *
 *     node bench/mirror/latest-changes.ts [--jobs 400000] [--plans 0] [--postgres URL]
 */
import { type QueryResult, sql } from 'kysely';
import { Db } from '../../src/postgres/db.ts';
import { openDatabase } from '../../src/postgres/pool.ts';
import { readSuspects } from '../../src/status/waiting.ts';
import { latestRows } from '../../src/status/lookup-store.ts';
import { migrateTo } from '../../test/support/databases/migrated-database.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, median, print, printMachine, printTable } from '../support/report.ts';
import { onStage, withClient } from '../support/stage.ts';

const flags = readFlags({ jobs: 400_000, plans: 0, postgres: '' });
const claims = new Claims();
const ASKED = 9;
/** Milliseconds that one answer may take, in the median. */
const WITHIN = 1000;

/** Microseconds since 1970, `minutes` ago: a change ID. */
const ago = (minutes: string): string =>
  `(extract(epoch from now() - (${minutes}) * interval '1 minute') * 1000000)::bigint`;

/** Jobs `from` to `to`, job n that many minutes ago. */
const fillJobs = (from: number, to: number, minutes: string): string => `
  insert into mirror.research_jobs (_user_id, job_id, status, _first_seen_at, _changed_at, _change_id, _hash, _raw)
  select 1, n, 'done', x.at, x.at, (extract(epoch from x.at) * 1000000)::bigint + n, decode(md5(n::text), 'hex'),
    jsonb_build_object('job_id', n, 'status', 'done', 'company', md5(n::text), 'note', repeat('x', 300))
  from generate_series(${from}, ${to}) as n
  cross join lateral (select now() - (${minutes}) * interval '1 minute' as at) as x`;

/** Every nth job was another one until some minutes ago. */
const changeJobs = (every: number, minutes: string): string => `
  insert into mirror.research_jobs_history (_user_id, job_id, status, _first_seen_at, _changed_at, _change_id, _hash,
    _raw, _valid_from, _valid_to, _op)
  select _user_id, job_id, 'running', _first_seen_at, _changed_at, _change_id, _hash,
    _raw || '{"status":"running"}', _changed_at, now() - (${minutes}) * interval '1 minute', 'update'
  from mirror.research_jobs where _user_id = 1 and job_id % ${every} = 0;
  update mirror.research_jobs set _changed_at = now() - (${minutes}) * interval '1 minute',
    _change_id = ${ago(minutes)} + job_id
  where _user_id = 1 and job_id % ${every} = 0`;

/** Prints the plan of each statement before it is asked. */
class Planning extends Db {
  override async sql<Row>(text: TemplateStringsArray, ...values: unknown[]): Promise<QueryResult<Row>> {
    const statement = sql<Row>(text, ...values);
    const { rows } = await sql<Record<'QUERY PLAN', string>>`explain (analyze, costs off) ${statement}`.execute(this);
    print(rows.map((row) => row['QUERY PLAN']).join('\n'));
    return statement.execute(this);
  }
}

await onStage(flags.postgres, async (stage) => {
  const url = await stage.database();
  await migrateTo(url, 'mirror');
  const database = await openDatabase({ url, schema: 'mirror', program: 'bench' });
  const rows: string[][] = [];
  const measure = async (title: string, ask: (db: Db) => Promise<{ readonly length: number }>): Promise<void> => {
    if (flags.plans > 0) await database.db.snapshot((trx) => ask(new Planning(trx.kysely, trx.schema)));
    const times: number[] = [];
    let found = 0;
    for (let turn = 0; turn < ASKED; turn += 1) {
      const begin = performance.now();
      found = (await database.db.snapshot(ask)).length;
      times.push(performance.now() - begin);
    }
    const mid = median(times);
    rows.push([title, String(found), mid.toFixed(1), Math.max(...times).toFixed(1)]);
    claims.check(mid < WITHIN, `${title}: ${mid.toFixed(0)} ms`);
  };
  const ofOne = (db: Db) => latestRows(db, '1');
  try {
    await withClient(url, async (client) => {
      await client.query(fillJobs(1, flags.jobs, '30 + n * 0.1'));
      await client.query(`
        insert into mirror.list_items (_user_id, list_id, id, _first_seen_at, _changed_at, _change_id, _hash, _raw)
        select 1, n % 500, n::text, x.at, x.at, (extract(epoch from x.at) * 1000000)::bigint + n,
          decode(md5(n::text), 'hex'), jsonb_build_object('id', n::text)
        from generate_series(1, ${Math.round(flags.jobs / 5)}) as n
        cross join lateral (select now() - n * interval '30 seconds' - interval '2 hours' as at) as x`);
      await client.query(changeJobs(Math.max(1, Math.round(flags.jobs / 5_000)), '20 + job_id * 0.01'));
      await client.query('vacuum analyze');
      await measure('one account, 5,000 jobs changed', ofOne);
      await client.query(fillJobs(flags.jobs + 1, flags.jobs + 100_000, `(${flags.jobs + 100_000} - n) / 20000.0`));
      await client.query('analyze');
      await measure('a first load of 100,000 rows', ofOne);
      await client.query(`
        insert into mirror_sync.candidate (_user_id, collection, parent, key, kind, obs, at)
        select 1, 'research_jobs', '', n::text, 'snapshot', 1, now() from generate_series(1, 150000) as n
        union all
        select 1, 'list_items', (n % 500)::text, n::text, 'pair', 1, now() from generate_series(1, 50000) as n`);
      await client.query('vacuum analyze');
      await measure('200,000 suspected deletions in 501 scopes, in groups', (db) =>
        readSuspects(db, new Date(), 60_000),
      );
    });
  } finally {
    await database.close();
  }
  printMachine();
  printTable(['asked', 'entries', 'median ms', 'slowest ms'], rows);
  claims.tell(`each answer takes less than ${WITHIN} ms`);
});
