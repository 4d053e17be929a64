import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { openRecipeShell, type RecipeShell } from '../support/processes/recipe-shell.ts';
import { shellRecipes } from '../support/rules/recipes.ts';

/** Where pip puts DuckDB's command. */
const programs = dirname(inject('python'));
const [csv = '', parquet = '', use = ''] = await shellRecipes('As CSV and as Parquet');
let shell: RecipeShell;

const JOBS = 20_000;
/** A text that looks like the end of its row, and others behind it, to whoever begins to read within it. */
const TEXT = `e'",\\r\\n1:1,1,1,s,1,1,n,t,,{},,,1\\r\\n"",""\\r\\n,ä😀\\\\n'`;

beforeAll(async () => {
  shell = await openRecipeShell(
    `
    alter table mirror.research_jobs add created_at timestamptz, add score numeric, add huge numeric, add error jsonb,
      add note text, add paid boolean;
    drop view mirror.research_jobs_live cascade;
    insert into mirror.research_jobs
        (_user_id, job_id, status, _raw, _hash, _change_id, _first_seen_at, _changed_at, created_at, score, huge, error, note, paid)
      select 1 + i % 2, i, 'completed', '{}', '', i, now(), now(),
        case i when 1 then null when 2 then 'infinity' else timestamptz '1969-12-31 23:59:59.999999Z' + i * interval '1 day 1 us' end,
        case i when 1 then null when 2 then -0.000000001 else i * 1.1 end, case when i > 1 then 10::numeric ^ 39 + i + 0.5 end,
        case i when 1 then null when 2 then 'null' else jsonb_build_object('big', 12345678901234567890.10 + i, 'q', '"') end,
        case i % 4 when 0 then '' when 1 then repeat(${TEXT}, 100) || i when 2 then 'NULL' end, case when i > 1 then i % 2 = 0 end
      from generate_series(1, ${JOBS}) as i;
    update mirror.research_jobs set note = repeat('long', 1000000) where job_id = 100;
    create view mirror.research_jobs_live as select _user_id || ':' || job_id as _key, _user_id, job_id, status, score, huge,
      note, paid, created_at, error, _first_seen_at, _changed_at, _change_id from mirror.research_jobs`,
    [programs],
  );
});
afterAll(() => shell.close());

/** Asks DuckDB itself. */
async function duckDb(text: string): Promise<unknown[][]> {
  const args = ['-json', '-c', `set timezone = 'UTC'; ${text}`];
  const { stdout } = await promisify(execFile)(join(programs, 'duckdb'), args, { maxBuffer: 1 << 28 });
  return (JSON.parse(stdout) as Record<string, unknown>[]).map((row) => Object.values(row));
}

/** Every value that DuckDB finds in the file is the one that Postgres has. */
async function compare(): Promise<void> {
  const read = await duckDb(`select _key, _user_id::varchar, job_id::varchar, status, score::varchar, huge, note, paid,
      created_at::varchar, error::varchar, _first_seen_at::varchar, _changed_at::varchar, _change_id::varchar
    from '${shell.path('jobs.parquet')}' order by job_id`);
  const { rows } = await shell.superuser.query<unknown[]>({
    text: `select _key, _user_id::text, job_id::text, status, score::decimal(38, 9)::text, huge::text, note,
        case paid when true then 't' when false then 'f' end, created_at::text, error::text, _first_seen_at::text,
        _changed_at::text, _change_id::text
      from mirror.research_jobs_live as live order by live.job_id`,
    rowMode: 'array',
  });
  expect(read).toHaveLength(JOBS);
  for (const [index, row] of rows.entries()) expect(read[index]).toEqual(row);
}

it('a table as Parquet has the rows of the table, value for value', async () => {
  for (const recipe of [csv, parquet]) {
    expect(await shell.run(recipe)).toMatchObject({ code: 0, stderr: '' });
  }
  const columns = await duckDb(`describe from '${shell.path('jobs.parquet')}'`);
  expect(columns.map(([name, type]) => `${String(name)} ${String(type)}`).join(', ')).toBe(
    '_key VARCHAR, _user_id BIGINT, job_id BIGINT, status VARCHAR, score DECIMAL(38,9), huge VARCHAR, note VARCHAR, ' +
      'paid VARCHAR, created_at TIMESTAMP WITH TIME ZONE, error JSON, _first_seen_at TIMESTAMP WITH TIME ZONE, ' +
      '_changed_at TIMESTAMP WITH TIME ZONE, _change_id BIGINT',
  );
  await compare();
  const used = await shell.run(use.split('\n').find((line) => line.startsWith('duckdb')) ?? 'false');
  expect(used).toMatchObject({ code: 0, stdout: expect.stringContaining(String(JOBS)) as string });
});

it('a text that looks like rows is none where the file has many buffers, either', async () => {
  // Room for the longest row. As it is written, that needs a file of gigabytes.
  const small = parquet.replace('buffer_size = 140000000', 'buffer_size = 4100000');
  expect(small).not.toBe(parquet);
  expect(await shell.run(small)).toMatchObject({ code: 0, stderr: '' });
  await compare();
});

it('a number that the column’s type does not hold whole stops it, and the file that was there stays', async () => {
  const before = await duckDb(`select count(*)::varchar from '${shell.path('jobs.parquet')}'`);
  for (const [score, said] of [
    ['1.0000000001', '1.0000000001 has more than 9 decimals'],
    ['123456789012345678901234567890.5', 'Could not convert'],
    ["'NaN'", 'Could not convert'],
  ] as const) {
    await shell.superuser.query(`update mirror.research_jobs set score = ${score} where job_id = 7`);
    expect(await shell.run(csv)).toMatchObject({ code: 0 });
    const stderr = expect.stringContaining(said) as string;
    expect(await shell.run(parquet)).toMatchObject({ code: 1, stderr });
    expect(await duckDb(`select count(*)::varchar from '${shell.path('jobs.parquet')}'`)).toEqual(before);
  }
  expect(existsSync(shell.path('jobs.csv'))).toBe(true);
});
