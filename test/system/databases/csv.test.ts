import { readFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRecipeShell, type RecipeShell } from '../../support/processes/recipe-shell.ts';
import { shellRecipes } from '../../support/rules/recipes.ts';

let shell: RecipeShell;
let superuser: pg.Client;

/** Every type that a column of the mirror may have, and some that users may add. */
const ODD = `mirror."Odd ""Table"""`;

beforeAll(async () => {
  shell = await openRecipeShell(`
    create table ${ODD} (n bigint, "Text, quoted" text, exact numeric, huge numeric, at timestamptz, never timestamptz, day date,
      yes boolean, doc jsonb, bytes bytea, list text[], small smallint, near double precision);
    insert into ${ODD}
      select i, case when i % 3 = 0 then null when i % 3 = 1 then '' else e'ä "q",\\r\\n\\n😀' || i end, i * 1.10::numeric,
        10::numeric ^ 40 + i, timestamptz '1969-12-31 23:59:59.999999Z' + i * interval '1 day 1 microsecond',
        case when i = 7 then 'infinity' else timestamptz '2026-01-01' end, date '2026-01-01' + i, i % 2 = 0,
        jsonb_build_object('big', 12345678901234567890.10 + i), sha256(i::text::bytea), array['a,b', i::text], i, 0.1 * i
      from generate_series(1, 20) as i;
    insert into mirror.research_jobs (_user_id, job_id, status, _raw, _hash, _change_id, _first_seen_at, _changed_at)
      select 1 + i % 2, i, case when i % 7 = 0 then 'failed' else 'completed' end, '{}', '', i, now(), now()
      from generate_series(1, 5000) as i`);
  superuser = shell.superuser;
});
afterAll(() => shell.close());

/** What the driver's connection can do beside what its types say. */
interface CopyInto {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** Gives Postgres a text to copy from. */
function copyIn(statement: string, text: string): Promise<unknown> {
  const copy = new (class extends pg.Query {
    handleCopyInResponse(connection: CopyInto): void {
      connection.sendCopyFromChunk(Buffer.from(text));
      connection.endCopyFrom();
    }
  })(statement);
  return new Promise((resolve, reject) => {
    copy.once('end', resolve).once('error', reject);
    superuser.query(copy);
  });
}

describe('sql --csv', () => {
  it('prints every value so that Postgres reads the same one, and tells NULL from an empty text', async () => {
    const { code, stdout, stderr } = await shell.run(`npx research-mirror sql --csv 'select * from "Odd ""Table"""'`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    await superuser.query(`create temp table copied (like ${ODD})`);
    await copyIn('copy copied from stdin (format csv, header match)', stdout);
    const rowsOf = async (table: string): Promise<unknown[]> =>
      (await superuser.query(`select t::text as row from ${table} as t order by n`)).rows;
    expect(await rowsOf('copied')).toEqual(await rowsOf(ODD));
    expect(await rowsOf('copied')).toHaveLength(20);
  });

  it('takes no more memory for many rows than for some', async () => {
    // 300 MB of text, with little more of a heap than the program itself takes.
    const text = `select i, repeat(md5(i::text), 32) as x from generate_series(1, 300000) as i`;
    const { code, stdout, stderr } = await shell.run(
      `NODE_OPTIONS=--max-old-space-size=40 npx research-mirror sql --csv "${text}" | wc -lc`,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [lines, bytes] = stdout.trim().split(/\s+/).map(Number);
    expect(lines).toBe(300_001);
    expect(bytes).toBeGreaterThan(300_000 * 1_024);
  });

  it.each([
    // The system takes what fits below the limit (4 KB), and fails only what comes next; here nothing comes next.
    ['where its file takes only a part of what was printed', 'ulimit -f 4; ', 'full.csv', 'EFBIG'],
    ['where a device is full', '', '/dev/full', 'ENOSPC'],
  ])('ends with 3 %s', async (_, limit, file, error) => {
    const text = `select repeat('x', 100) as x from generate_series(1, 60)`;
    const { code, stderr } = await shell.run(`${limit}npx research-mirror sql --csv "${text}" > ${file}`);
    const message = expect.stringMatching(`^research-mirror: the output can't be written: ${error}: .*\n$`);
    expect({ code, stderr }).toEqual({ code: 3, stderr: message as string });
    if (file === 'full.csv') expect(readFileSync(shell.path(file))).toHaveLength(4 * 1024);
  });
});

it('the recipe of a table as CSV replaces the file only when it is whole', async () => {
  const [recipe = ''] = await shellRecipes('As CSV and as Parquet');
  expect(await shell.run(recipe)).toMatchObject({ code: 0, stderr: '' });
  const whole = readFileSync(shell.path('jobs.csv'), 'utf8');
  expect(whole.split('\r\n')).toHaveLength(5_002);
  await superuser.query(`insert into mirror.research_jobs
    (_user_id, job_id, status, _raw, _hash, _change_id, _first_seen_at, _changed_at)
    values (1, 9000, repeat('x', 65 * 1024 * 1024), '{}', '', 9000, now(), now())`);
  const refused = await shell.run(recipe);
  await superuser.query('delete from mirror.research_jobs where job_id = 9000');
  const message = expect.stringContaining('a row of the answer has 66 MiB; the limit is 64 MiB') as string;
  expect(refused).toMatchObject({ code: 1, stderr: message });
  expect(readFileSync(shell.path('jobs.csv.partial'), 'utf8')).toContain('_user_id,job_id');
  expect(readFileSync(shell.path('jobs.csv'), 'utf8')).toBe(whole);
});
