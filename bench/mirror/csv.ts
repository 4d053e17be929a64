/**
 * All of a table as CSV into a file, and a tenth of it: both take the same memory.
 *
 *     node bench/mirror/csv.ts [--rows 1000000] [--postgres URL]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createReaderLogin } from '../../test/support/postgres/reader-login.ts';
import { migrateTo } from '../../test/support/databases/migrated-database.ts';
import { builtProgram } from '../../test/support/processes/built-programs.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, printMachine, printTable } from '../support/report.ts';
import { onStage, withClient } from '../support/stage.ts';

const flags = readFlags({ rows: 1_000_000, postgres: '' });
const PRELOAD = new URL('../support/peak-memory.ts', import.meta.url).href;
/** Megabytes that any number of rows may take; the program alone takes 80. When V8 collects, differs from run to run. */
const MOST = 200;

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
    for (const count of [Math.round(flags.rows / 10), flags.rows]) {
      const { took, size, peak } = await written(stage.folder, reader.url, count);
      rows.push([String(count), `${took.toFixed(1)} s`, size.toFixed(0), peak.toFixed(0)]);
      claims.check(peak < MOST, `${count} rows took ${peak.toFixed(0)} MB`);
    }
  } finally {
    await reader.drop();
  }
  printMachine();
  printTable(['rows', 'took', 'MB', 'peak RSS MB'], rows);
  claims.tell(`every row is in the file, and any number of them takes less than ${MOST} MB`);
});

async function written(
  folder: string,
  url: string,
  rows: number,
): Promise<{ readonly took: number; readonly size: number; readonly peak: number }> {
  const peakFile = join(folder, 'peak');
  const path = join(folder, 'jobs.csv');
  const file = await open(path, 'w');
  const query = `select * from research_jobs where job_id <= ${rows}`;
  const args = ['--import', PRELOAD, await builtProgram('main'), 'sql', '--csv', '--timeout', '1h', query];
  const began = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'], DATABASE_URL: url, BENCH_PEAK_FILE: peakFile },
    stdio: ['ignore', file.fd, 'inherit'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  const took = (performance.now() - began) / 1000;
  await file.close();
  claims.check(code === 0, `${rows} rows ended with ${code}`);
  // No value of these has a line break.
  claims.check((await linesOf(path)) === rows + 1, `the file of ${rows} rows has another number of lines`);
  return { took, size: (await stat(path)).size / 1e6, peak: Number(await readFile(peakFile, 'utf8')) / 1e6 };
}

async function linesOf(path: string): Promise<number> {
  let lines = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
  }
  return lines;
}
