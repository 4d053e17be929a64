import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testDatabase } from '../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { deleteAllBut } from '../../support/mirror/deleting.ts';
import { recipes } from '../../support/rules/recipes.ts';
import { ROOT } from '../../support/rules/source-files.ts';

/** What another test runs, with more than one database or as another login: the heading, and the test. */
const RUN_ELSEWHERE: Readonly<Record<string, string>> = {
  'Into a warehouse: logical replication': 'test/system/databases/logical-replication.test.ts',
};

const all = (await recipes()).filter(({ heading }) => !Object.hasOwn(RUN_ELSEWHERE, heading));
/** Statements that create a reader's own tables, which the other recipes need. */
const MAKES = all.map(({ statement }) => statement).filter((text) => /^create (?:table|index)/.test(text));

const database = testDatabase();
let client: pg.Client;

beforeAll(async () => {
  const account = await MirroredAccount.make(database, '1', { deletes: 'hard', gracePeriodMs: 0 });
  const job = (id: number, status: string) =>
    `{"job_id":${id},"status":"${status}","notes":"n","location":{"city":"Graz"},"credits":1.5,` +
    `"technologies":["Go"],"url":"https://a.example","created_at":"2026-01-01T00:00:00Z","completed_at":"2026-01-01T00:01:00Z"}`;
  await account.page('research_jobs', `[${job(1, 'queued')},${job(2, 'queued')}]`);
  await account.page('research_jobs', `[${job(1, 'completed')}]`);
  await deleteAllBut(account, 'research_jobs', `[${job(1, 'completed')}]`, { accept: true });
  await account.page('lists', '[{"list_id":1,"name":"l"}]');
  await account.page('list_items', '[{"id":"a","name":"i","score":1}]', { parent: '1' });
  await account.page('watchlist', '[{"id":"w","url":"https://a.example","score":1}]');
  await account.page('watchlist', '[{"id":"w","url":"https://a.example","score":2}]');
  await account.query(`
    update mirror._collections set mirrored_from = '-infinity', history_from = '-infinity'`);
  // Tables of the reader's own: what follows changes, and companies from which a recipe submits.
  await account.query('create schema crm');
  for (const statement of MAKES) await account.query(statement);
  await account.query(
    `insert into crm.companies values (1, 'https://a.example'), (2, 'https://www.b.example/x'), (3, null)`,
  );
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
});

/** Runs a statement and rolls it back. */
async function rowsOf(statement: string, parameters: readonly string[]): Promise<unknown[]> {
  await client.query('begin');
  try {
    // The statement above it on its page, which makes the role, was rolled back.
    const [, role] = /^(?:alter role|grant [\w .]+ to) (\w+)/.exec(statement) ?? [];
    if (role !== undefined) {
      await client.query(`do $$ begin create role ${role}; exception when duplicate_object then null; end $$`);
    }
    const wanted = new Set(statement.match(/\$\d/g)).size;
    return (await client.query<Record<string, unknown>>(statement, parameters.slice(0, wanted))).rows;
  } finally {
    await client.query('rollback');
  }
}

describe('the pages of docs', () => {
  it.each(Object.entries(RUN_ELSEWHERE))('have SQL that another test runs: %s', async (heading, test) => {
    expect(await readFile(join(ROOT, test), 'utf8')).toContain(heading);
  });

  const asked = all.filter(({ statement }) => !MAKES.includes(statement));
  it.each(asked.map(({ heading, statement }, index) => [`${index + 1}, ${heading}`, statement]))(
    'have SQL that runs: %s',
    async (_, statement) => {
      await expect(rowsOf(statement, ['1', '0'])).resolves.toBeDefined();
    },
  );

  const found = (part: string): string =>
    (all.find(({ statement }) => statement.includes(part))?.statement ?? '').replaceAll(
      'now()',
      `timestamptz '2026-01-02'`,
    );

  it('show each watched company’s data, and its score over time', async () => {
    expect(await rowsOf(found('from mirror.watchlist_live w'), [])).toMatchObject([
      { id: 'w', score: '2', research_jobs: '1', lists: '0', last_job_status: 'completed' },
    ]);
    expect(await rowsOf(found('lag(score)'), ['1', 'w'])).toMatchObject([
      { score: '1', change: null },
      { score: '2', change: '1' },
    ]);
  });

  it('show how many jobs came on a day, and how long they took', async () => {
    expect(await rowsOf(found('as failed'), [])).toMatchObject([{ jobs: '1', completed: '1', failed: '0' }]);
    expect(await rowsOf(found('as median'), [])).toMatchObject([{ median: { minutes: 1 } }]);
  });

  it('send each company once, show what came of each, and whether an unknown outcome took effect', async () => {
    const parts = [
      'from crm.companies where id = 1',
      'where c.url is not null',
      'j.status as job_status',
      'lists_tell',
    ];
    const [one = '', rest = '', outcome = '', unknown = ''] = parts.map((part) => found(part));
    await client.query('begin');
    try {
      expect((await client.query(one)).rows).toHaveLength(1);
      expect((await client.query(rest)).rows).toMatchObject([{ id: '2' }]);
      expect((await client.query(rest)).rows).toEqual([]);
      await client.query(`
        update mirror.submissions set state = 'accepted', response = '{"job_id": 1}' where idempotency_key = 'crm-1';
        update mirror.submissions set state = 'unknown', sent_at = created_at, _conclusive_at = '2026-01-01'
          where idempotency_key = 'crm-2'`);
      expect((await client.query(outcome)).rows).toMatchObject([
        { id: '1', state: 'accepted', job_id: '1', job_status: 'completed' },
        { id: '2', state: 'unknown', job_id: null },
        { id: '3', state: null },
      ]);
      expect((await client.query(unknown)).rows).toMatchObject([{ idempotency_key: 'crm-2', job_id: null }]);
      await client.query(`update mirror.research_jobs set _domain = 'b.example', _first_seen_at = clock_timestamp()`);
      expect((await client.query(unknown)).rows).toMatchObject([{ idempotency_key: 'crm-2', job_id: '1' }]);
    } finally {
      await client.query('rollback');
    }
  });

  it('show the differences from yesterday', async () => {
    const changed = all.find(({ statement }) => statement.includes('as before'))?.statement ?? '';
    expect(await rowsOf(changed, [])).toEqual([
      { what: 'new', _user_id: '1', job_id: '1', before: null, now: 'completed', fields: null },
    ]);
    // At the moment of the first page.
    const first = `(select min(_valid_from) from mirror.research_jobs_history)`;
    expect(
      await rowsOf(`${changed.replace(`now() - interval '1 day'`, first).replace(/;?$/, '')} order by job_id`, []),
    ).toEqual([
      { what: 'changed', _user_id: '1', job_id: '1', before: 'queued', now: 'completed', fields: 'status' },
      { what: 'gone', _user_id: '1', job_id: '2', before: 'queued', now: null, fields: null },
    ]);
  });
});
