import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { COLLECTION_NAMES } from '../../../../src/model/collections.ts';
import { createMigratedDatabase, testDatabase } from '../../../support/databases/migrated-database.ts';
import { changeId, MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { lines } from '../../../support/mirror/lines.ts';
import { deleteAllBut } from '../../../support/mirror/deleting.ts';
import { createReaderLogin } from '../../../support/postgres/reader-login.ts';
import { recipes } from '../../../support/rules/recipes.ts';

const database = testDatabase();
const HARD = { deletes: 'hard', gracePeriodMs: 0 } as const;
let one: MirroredAccount;
let two: MirroredAccount;
beforeAll(async () => {
  [one, two] = [await MirroredAccount.make(database, '1', HARD), await MirroredAccount.make(database, '2', HARD)];
});

const jobs = (...ids: readonly (number | string)[]): string =>
  `[${ids.map((id) => (typeof id === 'number' ? `{"job_id":${id}}` : id)).join()}]`;

/** The account has these jobs, and no others. */
const only = (account: MirroredAccount, page: string): Promise<unknown> =>
  deleteAllBut(account, 'research_jobs', page, { accept: true });

const since = (marks: Record<string, string>, atMost = 'null') =>
  lines(
    one,
    `select _user_id || ':' || job_id || case when _deleted_at is null then '' else ' gone' end
     from mirror.research_jobs_since('${JSON.stringify(marks)}', ${atMost})`,
  );

const statement = async (part: string): Promise<string> =>
  (await recipes()).find((recipe) => recipe.statement.includes(part))?.statement ?? `no recipe has ${part}`;

const DONE = '{"job_id":2,"status":"completed"}';

describe('<table>_since', () => {
  it('returns each account’s changes since its mark, all rows of an account without one, each row once', async () => {
    await one.page('research_jobs', jobs(1, 2, 3));
    expect(await since({})).toEqual(['1:1', '1:2', '1:3']);
    await two.page('research_jobs', jobs(1, 2));
    await one.page('research_jobs', jobs(DONE));
    expect((await since({ 1: changeId(3) })).toSorted()).toEqual(['1:2', '2:1', '2:2']);
    expect(await since({ 1: changeId(4), 2: changeId(2) })).toEqual([]);
    expect(await since({ 1: changeId(0), 2: changeId(2) }, '2')).toEqual(['1:1', '1:3']);
  });

  it('returns the last version of a removed row, unless it came back', async () => {
    const mark = { 1: changeId(4), 2: changeId(2) };
    for (const [left, expected] of [
      [jobs(1, DONE), '1:3 gone'],
      [jobs(1, DONE, 3), '1:3'],
      [jobs(1, DONE), '1:3 gone'],
    ] as const) {
      await only(one, left);
      expect(await since(mark)).toEqual([expected]);
    }
  });

  it('raises errors that say what is wrong with its marks', async () => {
    for (const marks of [`'[]'`, `'7'`, 'null'])
      await expect(one.query(`select from mirror.research_jobs_since(${marks})`)).rejects.toThrow(
        'research_jobs_since: marks must be a JSON object',
      );
  });

  it('exists for each table, and for readers', async () => {
    const login = await createReaderLogin(database.url);
    const client = new pg.Client({ connectionString: login.url });
    await client.connect();
    for (const table of COLLECTION_NAMES) {
      const { fields } = await client.query(`select * from mirror.${table}_since('{"1": 0}', 10)`);
      expect(fields.length).toBeGreaterThan(5);
    }
    await client.end();
    await login.drop();
  });
});

it('the recipe for a copy is exact over new accounts, changes, deletions that remove rows, and rows that come back', async () => {
  await one.query('create schema crm');
  await one.query(await statement('create table crm.jobs'));
  await one.query(await statement('create table crm.marks'));
  const differences = async (): Promise<unknown[]> => {
    await one.query(await statement('from crm.marks))'));
    await one.query(await statement('delete from crm.jobs where _deleted_at'));
    const own = 'select _user_id, job_id, _change_id, status from';
    return one.query(`(${own} mirror.research_jobs except all ${own} crm.jobs)
      union all (${own} crm.jobs except all ${own} mirror.research_jobs)`);
  };
  expect(await differences()).toEqual([]);
  const three = await MirroredAccount.make(database, '3', HARD);
  await three.page('research_jobs', jobs(7, 8));
  await only(one, jobs(1, '{"job_id":2,"status":"failed"}', 9));
  // The usual filter of incremental tools misses an account that is behind.
  const usual =
    'select distinct _user_id from mirror.research_jobs where _change_id > (select max(_change_id) from crm.jobs)';
  expect(await one.query(usual)).toEqual([{ _user_id: '1' }]);
  expect(await differences()).toEqual([]);
  await only(three, jobs(8));
  await only(one, jobs(1, 3));
  expect(await differences()).toEqual([]);
  expect(await one.query('select count(*)::int as n from crm.jobs')).toEqual([{ n: 5 }]);
});

it('the reading of some changes uses the index in a large table: a few pages, not all of them', async () => {
  const large = await createMigratedDatabase();
  const account = await MirroredAccount.make(large, '1');
  await account.page('research_jobs', jobs(1));
  // One account is behind the other: the planner assumes that account and change ID are independent.
  await account.query(`
    insert into mirror.research_jobs (_user_id, job_id, _first_seen_at, _changed_at, _change_id, _hash, _raw)
    select 1 + id % 2, id, now(), now(), case id % 2 when 0 then 1000000 + id else id end, '',
      jsonb_build_object('text', repeat('x', 1500))
    from generate_series(2, 20000) id`);
  await account.query(`insert into mirror._collections (_user_id, collection) values (2, 'research_jobs')`);
  await account.query('analyze mirror.research_jobs');
  const [{ 'QUERY PLAN': [plan] } = { 'QUERY PLAN': [] }] = await account.query<{
    'QUERY PLAN': { Plan: Record<string, number> }[];
  }>(`
    explain (analyze, buffers, format json)
    select * from mirror.research_jobs_since('{"1": 1019900, "2": 19900}')`);
  expect(plan?.Plan['Actual Rows']).toBe(101);
  const pages = (plan?.Plan['Shared Hit Blocks'] ?? 0) + (plan?.Plan['Shared Read Blocks'] ?? 0);
  const all = Number((await lines(account, `select pg_relation_size('mirror.research_jobs') / 8192`))[0]);
  expect(all).toBeGreaterThan(3000);
  // Including those of the catalogue.
  expect(pages).toBeLessThan(all / 2);
  await large.drop();
});
