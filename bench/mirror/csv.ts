/**
 * All of a table as CSV and as Parquet, under a limited heap; DuckDB then compares both files.
 *
 *     node bench/mirror/export.ts [--rows 1000000] [--heap 64] [--postgres URL]
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openDuckDb, quoted } from '../../test/support/export/duckdb.ts';
import { createReaderLogin } from '../../test/support/postgres/reader-login.ts';
import { migrateTo } from '../../test/support/databases/migrated-database.ts';
import { runProgram } from '../../test/support/processes/program.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable } from '../support/report.ts';
import { onStage, withClient } from '../support/stage.ts';

const flags = readFlags({ rows: 1_000_000, heap: 64, postgres: '' });
const PRELOAD = new URL('../support/peak-memory.ts', import.meta.url).href;
/** V8's usual heap, for comparison. */
const USUAL = 0;

const claims = new Claims();

await onStage(flags.postgres, async (stage) => {
  const url = await stage.database();
  await migrateTo(url, 'mirror');
  await withClient(url, async (client) => {
    await client.query(`alter table mirror.research_jobs
      add company text, add score numeric, add credits numeric, add created_at timestamptz, add domain text`);
    await client.query(
      `insert into mirror.research_jobs (_user_id, job_id, status, company, score, credits, created_at, domain, _raw, _hash,
          _change_id, _first_seen_at, _changed_at)
        select 1, i, case when i % 7 = 0 then 'failed' else 'completed' end, 'Company ' || i, (i % 1000) / 10.0, i * 0.001,
          now() - i * interval '1 minute', 'c' || i || '.example.com',
          jsonb_build_object('job_id', i, 'company', 'Company ' || i, 'score', (i % 1000) / 10.0,
            'note', md5(i::text) || repeat(md5((i + 1)::text), 8)),
          sha256(i::text::bytea), i, now(), now()
        from generate_series(1, $1::int) as i`,
      [flags.rows],
    );
  });
  const reader = await createReaderLogin(url);
  const rows: string[][] = [];
  try {
    for (const [format, heap] of [
      ['csv', USUAL],
      ['csv', flags.heap],
      ['parquet', USUAL],
      ['parquet', flags.heap],
    ] as const) {
      rows.push(await exported(stage.folder, reader.url, format, heap));
    }
  } finally {
    await reader.drop();
  }
  const same = await compared(stage.folder);
  claims.check(same, 'the two files differ');
  printMachine();
  print(`${flags.rows} research jobs with 15 columns`);
  printTable(['', 'heap MB', 'took', 'MB', 'peak RSS MB'], rows);
  claims.tell('both files have the same rows, and a table of any length fits into the limited heap');
});

async function exported(folder: string, url: string, format: string, heap: number): Promise<string[]> {
  const peakFile = join(folder, 'peak');
  const file = `jobs.${format}`;
  const began = performance.now();
  const { code, stderr } = await runProgram(['export', 'research_jobs', `--${format}`, '-o', file], {
    cwd: folder,
    env: { DATABASE_URL: url, BENCH_PEAK_FILE: peakFile },
    nodeArguments: ['--import', PRELOAD, ...(heap === USUAL ? [] : [`--max-old-space-size=${heap}`])],
  });
  const took = (performance.now() - began) / 1000;
  claims.check(code === 0, `${format} with a heap of ${heap} MB ended with ${code}: ${stderr.slice(-300)}`);
  if (code !== 0) return [format, String(heap), 'failed'];
  const { size } = await stat(join(folder, file));
  const peak = Number(await readFile(peakFile, 'utf8'));
  return [
    format,
    heap === USUAL ? 'usual' : String(heap),
    `${took.toFixed(1)} s`,
    (size / 1e6).toFixed(0),
    (peak / 1e6).toFixed(0),
  ];
}

/** Whether DuckDB finds the same rows in both files, by sums over hashes and over every digit of the numbers. */
async function compared(folder: string): Promise<boolean> {
  const duckDb = await openDuckDb();
  try {
    const sums = `select count(*)::varchar, sum(hash(job_id::varchar, company, status, domain, _raw))::varchar,
      sum(score::decimal(38, 20))::varchar, sum(credits::decimal(38, 3))::varchar from`;
    const csv = `read_csv(${quoted(join(folder, 'jobs.csv'))}, all_varchar = true, header = true, nullstr = '')`;
    const [text] = await duckDb.ask(`${sums} ${csv}`);
    const [typed] = await duckDb.ask(`${sums} ${quoted(join(folder, 'jobs.parquet'))}`);
    return JSON.stringify(text) === JSON.stringify(typed) && text?.[0] === String(flags.rows);
  } finally {
    duckDb.close();
  }
}
