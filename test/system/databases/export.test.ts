import { execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createMigratedTestDatabase } from '../../support/databases/migrated-database.ts';
import { openDuckDb, quoted, type DuckDb } from '../../support/export/duckdb.ts';
import type { TestDatabase } from '../../support/postgres/postgres.ts';
import { createReaderLogin, type ReaderLogin } from '../../support/postgres/reader-login.ts';
import { builtProgram } from '../../support/processes/built-programs.ts';
import { makeFolder, runProgram, startProgram, type Outcome } from '../../support/processes/program.ts';

const folder = makeFolder();
let database: TestDatabase;
let reader: ReaderLogin;
let superuser: pg.Client;
let duckDb: DuckDb;

/** Every type that a column of the mirror may have, and some that users may add. */
const ODD = `mirror."Odd ""Table"""`;
const JOBS = 120_000;

beforeAll(async () => {
  database = await createMigratedTestDatabase();
  superuser = new pg.Client({ connectionString: database.url });
  await superuser.connect();
  await superuser.query(`
    create table ${ODD} (n bigint, "Text, quoted" text, exact numeric, huge numeric, at timestamptz, never timestamptz, day date,
      yes boolean, doc jsonb, bytes bytea, list text[], small smallint, near double precision);
    insert into ${ODD}
      select i, case when i % 3 = 0 then null when i % 3 = 1 then '' else e'ä "q",\\r\\n😀' || i end, i * 1.10::numeric,
        10::numeric ^ 40 + i, timestamptz '1969-12-31 23:59:59.999999Z' + i * interval '1 day 1 microsecond',
        case when i = 7 then 'infinity' else timestamptz '2026-01-01' end, date '2026-01-01' + i, i % 2 = 0,
        jsonb_build_object('big', 12345678901234567890.10 + i), sha256(i::text::bytea), array['a,b', i::text], i, 0.1 * i
      from generate_series(1, 20) as i;
    insert into mirror.research_jobs (_user_id, job_id, status, _raw, _hash, _change_id, _first_seen_at, _changed_at)
      select 1 + i % 2, i, case when i % 7 = 0 then 'failed' else 'completed' end,
        jsonb_build_object('job_id', i, 'note', repeat('x', 1000) || i), '', i, now(), now()
      from generate_series(1, ${JOBS}) as i;
    create view mirror.endless as select i, pg_sleep(case when i > 50000 then 60 else 0 end)::text as slept
      from generate_series(1, 100000) as i;
    create view mirror.empty as select 1 as n, now() as at where false;
    grant select on all tables in schema mirror to mirror_reader`);
  reader = await createReaderLogin(database.url);
  duckDb = await openDuckDb();
});
afterAll(async () => {
  duckDb.close();
  await reader.drop();
  await superuser.end();
  await database.drop();
  folder.remove();
});

const path = (name: string): string => join(folder.path, name);
const options = (): { cwd: string; env: Record<string, string> } => ({
  cwd: folder.path,
  env: { DATABASE_URL: reader.url },
});
const run = (...args: string[]): Promise<Outcome> => runProgram(['export', ...args], options());
/** Postgres's own text of each value, in the order of the key. */
async function truth(columns: string): Promise<unknown[][]> {
  await superuser.query(`set timezone = 'UTC'`);
  const { rows } = await superuser.query({
    text: `select ${columns} from ${ODD} as t order by t.n`,
    rowMode: 'array',
  });
  return rows;
}
const leftovers = (): string[] => readdirSync(folder.path).filter((name) => /partial|^\.research/.test(name));

describe('export --csv', () => {
  it('writes every value as Postgres prints it, and tells NULL from an empty text', async () => {
    const { code, stdout, stderr } = await run('Odd "Table"', '--csv', '-o', 'odd.csv');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^odd\.csv: 20 rows of Odd "Table", [\d,]+ bytes\n$/);
    const all = (
      await superuser.query<{ name: string }>(
        `select attname::text as name from pg_attribute where attrelid = '${ODD}'::regclass and attnum > 0 order by attnum`,
      )
    ).rows.map(({ name }) => `${pg.escapeIdentifier(name)}::text`);
    const read = await duckDb.ask(
      `select * from read_csv(${quoted(path('odd.csv'))}, all_varchar = true, header = true, nullstr = '', allow_quoted_nulls = false)
        order by n::int`,
    );
    // Casts print booleans in full.
    const expected = (await truth(all.join(', '))).map((row) =>
      row.map((value, index) => (all[index] === '"yes"::text' ? String(value).slice(0, 1) : value)),
    );
    expect(read).toEqual(expected);
    expect(statSync(path('odd.csv')).size).toBe(
      Number(/, ([\d,]+) bytes/.exec(stdout)?.[1]?.replaceAll(',', '')),
    );
  });

  it('writes to stdout without -o, and ends quietly when nobody reads on', async () => {
    const { code, stdout, stderr } = await run('mirror.empty', '--csv');
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'n,at\r\n', stderr: '' });
    const running = startProgram(['export', 'research_jobs', '--csv', '-o', '-'], options());
    await running.until('_user_id,');
    running.child.stdout.destroy();
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('export --parquet', () => {
  it('gives numbers, moments and dates their types, and is text only where a value does not fit', async () => {
    const { code, stdout, stderr } = await run('Odd "Table"', '--parquet', '-o', 'odd.parquet', '--json');
    expect(code).toBe(0);
    expect(stderr).toBe(
      'column "huge" is text in the file: its 41 digits before and 0 behind the point exceed the 38 of a DECIMAL\n' +
        'column "never" is text in the file: infinity is no TIMESTAMP that all readers know\n',
    );
    expect(JSON.parse(stdout)).toMatchObject({
      table: 'Odd "Table"',
      file: 'odd.parquet',
      format: 'parquet',
      rows: 20,
      bytes: statSync(path('odd.parquet')).size,
    });
    expect(await duckDb.typesOf(path('odd.parquet'))).toEqual({
      n: 'BIGINT',
      'Text, quoted': 'VARCHAR',
      exact: 'DECIMAL(38,2)',
      huge: 'VARCHAR',
      at: 'TIMESTAMP WITH TIME ZONE',
      never: 'VARCHAR',
      day: 'DATE',
      yes: 'BOOLEAN',
      doc: 'VARCHAR',
      bytes: 'BLOB',
      list: 'VARCHAR',
      small: 'INTEGER',
      near: 'DOUBLE',
    });
    const read = await duckDb.ask(
      `select n::varchar, "Text, quoted", exact::varchar, huge, epoch_us("at")::varchar, never, day::varchar, yes::varchar, doc,
        lower(hex(bytes)), list, small::varchar, near from ${quoted(path('odd.parquet'))} order by n`,
    );
    expect(read).toEqual(
      await truth(`n::text, "Text, quoted", exact::text, huge::text, (extract(epoch from "at") * 1000000)::bigint::text,
        never::text, day::text, yes::text, doc::text, encode(bytes, 'hex'), list::text, small::text, near`),
    );
  });

  it('takes no more memory for a table than for a part of it', async () => {
    // The table is more than 120 MB of text.
    const { code, stderr } = await runProgram(
      ['export', 'research_jobs', '--parquet', '-o', 'jobs.parquet'],
      {
        ...options(),
        nodeArguments: ['--max-old-space-size=64'],
      },
    );
    expect({ code, stderr: stderr.replaceAll(/^research_jobs: .*\n/gm, '') }).toEqual({
      code: 0,
      stderr: '',
    });
    const [read] = await duckDb.ask(
      `select count(*)::varchar, sum(job_id)::varchar, count(*) filter (where status = 'failed')::varchar, max(length(_raw))::varchar,
        sum((_raw->>'job_id')::int)::varchar from ${quoted(path('jobs.parquet'))}`,
    );
    const { rows } = await superuser.query({
      text: `select count(*)::text, sum(job_id)::text, (count(*) filter (where status = 'failed'))::text, max(length(_raw::text))::text,
        sum((_raw->>'job_id')::int)::text from mirror.research_jobs`,
      rowMode: 'array',
    });
    expect(read).toEqual(rows[0]);
    const [groups] = await duckDb.ask(
      `select count(distinct row_group_id) > 3 from parquet_metadata(${quoted(path('jobs.parquet'))})`,
    );
    expect(groups).toEqual([true]);
  });

  it('goes through a pipe, byte for byte what a file gets', async () => {
    await run('empty', '--parquet', '-o', 'empty.parquet');
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [await builtProgram('main'), 'export', 'empty', '--parquet'],
      { ...options(), encoding: 'buffer' },
    );
    expect(stdout.equals(readFileSync(path('empty.parquet')))).toBe(true);
    expect(await duckDb.ask(`select count(*)::int from ${quoted(path('empty.parquet'))}`)).toEqual([[0]]);
  });
});

describe('the file of an export', () => {
  it('replaces one that is there only when it is whole, and keeps its rights and the link to it', async () => {
    writeFileSync(path('real.csv'), 'what was there before');
    chmodSync(path('real.csv'), 0o640);
    symlinkSync('real.csv', path('link.csv'));
    const running = startProgram(['export', 'endless', '--csv', '-o', 'link.csv'], options());
    await eventually('rows on their way', () => leftovers().some((name) => statSync(path(name)).size > 0));
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130 });
    expect(readFileSync(path('real.csv'), 'utf8')).toBe('what was there before');
    expect(leftovers()).toEqual([]);
    expect(await run('empty', '--csv', '-o', 'link.csv')).toMatchObject({ code: 0 });
    expect(readFileSync(path('real.csv'), 'utf8')).toBe('n,at\r\n');
    expect(statSync(path('real.csv')).mode & 0o777).toBe(0o640);
  });

  it('is nothing where Postgres refuses or the time is over', async () => {
    const late = await run('endless', '--parquet', '-o', 'late.parquet', '--timeout', '200ms');
    expect(late).toMatchObject({ code: 3, stderr: expect.stringContaining('longer than 0.2 s') as string });
    await superuser.query('revoke select on mirror.empty from mirror_reader');
    const refused = await run('empty', '--csv', '-o', 'refused.csv');
    await superuser.query('grant select on mirror.empty to mirror_reader');
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('permission denied') as string,
    });
    expect(readdirSync(folder.path)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/late|refused/)]),
    );
  });

  it('may be a pipe with a name, which stays one', async () => {
    execFileSync('sh', ['-c', 'mkfifo "$0"', path('pipe')]);
    const reading = promisify(execFile)('cat', [path('pipe')]);
    expect(await run('empty', '--csv', '-o', 'pipe')).toMatchObject({ code: 0 });
    expect((await reading).stdout).toBe('n,at\r\n');
    expect(statSync(path('pipe')).isFIFO()).toBe(true);
  });

  it('is refused with 2 where it can’t be', async () => {
    mkdirSync(path('a-folder'));
    for (const [file, why] of [
      ['a-folder', 'it is a folder'],
      ['nowhere/jobs.csv', 'no such file or directory'],
    ] as const) {
      const { code, stdout, stderr } = await run('empty', '--csv', '-o', file);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(`can't write ${file}: `);
      expect(stderr).toContain(why);
    }
  });
});

describe('the table of an export', () => {
  it('is told by name where there is none, with those that there are', async () => {
    const { code, stdout, stderr } = await run('reserch_jobs', '--csv');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(
      /^research-mirror: no such table or view: "reserch_jobs" \(did you mean research_jobs\?\); there are .*research_jobs_live/,
    );
  });

  it('can’t be a statement', async () => {
    const { code, stderr } = await run('empty"; drop table lists; --', '--csv');
    expect(code).toBe(2);
    expect(stderr).toContain('no such table or view');
  });
});
