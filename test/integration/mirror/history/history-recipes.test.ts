import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createMigratedDatabase,
  type MigratedDatabase,
} from '../../../support/databases/migrated-database.ts';
import { changeId, MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { recipes } from '../../../support/rules/recipes.ts';

let database: MigratedDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createMigratedDatabase();
  const account = await MirroredAccount.make(database, '1', { deletes: 'hard', gracePeriodMs: 0 });
  const job = (id: number, status: string) =>
    `{"job_id":${id},"status":"${status}","notes":"n","location":{"city":"Graz"},"credits":1.5}`;
  await account.page('research_jobs', `[${job(1, 'queued')},${job(2, 'queued')}]`);
  await account.page('research_jobs', `[${job(1, 'completed')}]`);
  const proof = { proof: { kind: 'snapshot' } } as const;
  await account.observe('research_jobs', `[${job(1, 'completed')}]`, proof);
  await account.observe('research_jobs', `[${job(1, 'completed')}]`, proof);
  await account.applyDeletions('research_jobs', { accept: true });
  await account.page('lists', '[{"list_id":1,"name":"l"}]');
  await account.page('list_items', '[{"id":"a","name":"i","score":1}]', { parent: '1' });
  await account.query(
    `update mirror._collections set mirrored_from = '-infinity', history_from = '-infinity'`,
  );
  // A table of the reader's own, from which a recipe submits.
  await account.query('create schema crm');
  await account.query('create table crm.companies (id bigint, url text, enriched_at timestamptz)');
  await account.query(`insert into crm.companies values (1, 'https://a.example', null)`);
  // And one that follows changes.
  await account.query('create table crm.jobs (_user_id bigint, job_id bigint, _change_id bigint)');
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Runs a statement and rolls it back. */
async function rowsOf(statement: string, parameters: readonly string[]): Promise<unknown[]> {
  await client.query('begin');
  try {
    const wanted = new Set(statement.match(/\$\d/g)).size;
    return (await client.query<Record<string, unknown>>(statement, parameters.slice(0, wanted))).rows;
  } finally {
    await client.query('rollback');
  }
}

const all = await recipes();

describe('docs/recipes.md', () => {
  it.each(all.map(({ heading, statement }, index) => [`${index + 1}, ${heading}`, statement]))(
    'has SQL that runs: %s',
    async (_, statement) => {
      await expect(rowsOf(statement, ['1', '0'])).resolves.toBeDefined();
    },
  );

  it('feeds deletions of removed rows exactly once', async () => {
    const feed = all.filter(({ heading }) => heading.startsWith('Feed')).at(1)?.statement ?? '';
    expect(await rowsOf(feed, ['1', '0'])).toMatchObject([
      { job_id: '1', deleted: false, _change_id: changeId(3) },
      { job_id: '2', deleted: true, _change_id: changeId(4) },
    ]);
    expect(await rowsOf(feed, ['1', changeId(4)])).toEqual([]);
  });

  it('feed a copy of several accounts exactly, where one watermark over all of them loses rows', async () => {
    const own = await createMigratedDatabase();
    const behind = await MirroredAccount.make(own, '1');
    const ahead = await MirroredAccount.make(own, '2');
    // Change IDs follow the clock: this account's do, the other's lie beyond it.
    await behind.query('update mirror_sync.account set change_id = 1 where _user_id = 1');
    await behind.page('research_jobs', '[{"job_id":1},{"job_id":2}]');
    await ahead.page('research_jobs', '[{"job_id":1}]');
    await behind.query('create schema crm');
    await behind.query(
      'create table crm.jobs as select _user_id, job_id, _change_id from mirror.research_jobs',
    );
    await behind.page('research_jobs', '[{"job_id":2,"status":"completed"},{"job_id":3}]');
    await ahead.page('research_jobs', '[{"job_id":2}]');
    const ids = (rows: { _user_id: string; job_id: string }[]): string[] =>
      rows.map((row) => `${row._user_id}:${row.job_id}`).toSorted();
    const perAccount = all.find(({ statement }) => statement.includes('as mark'))?.statement ?? '';
    expect(ids(await behind.query(perAccount))).toEqual(['1:2', '1:3', '2:2']);
    const single = `select * from mirror.research_jobs where _change_id > (select max(_change_id) from crm.jobs)`;
    expect(ids(await behind.query(single))).toEqual(['2:2']);
    await own.drop();
  });

  it('shows what is different from yesterday', async () => {
    const changed = all.find(({ statement }) => statement.includes('as before'))?.statement ?? '';
    expect(await rowsOf(changed, [])).toEqual([
      { what: 'new', _user_id: '1', job_id: '1', before: null, now: 'completed' },
    ]);
  });
});
