import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { databaseForEach } from '../../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { recipes } from '../../../support/rules/recipes.ts';

/** docs/indexes.md, "Indexes for your questions": one statement of each kind, and the query that prints all. */
const recipe = (await recipes()).filter(({ heading }) => heading === 'Indexes for your questions');
const ONE_OF_EACH_KIND = recipe.map(({ statement }) => statement).filter((text) => text.startsWith('create'));
const QUERY = recipe.find(({ statement }) => statement.startsWith('select'))?.statement ?? '';

const own = databaseForEach();
let account: MirroredAccount;
let analyst: pg.Client;

beforeEach(async () => {
  account = await MirroredAccount.make(own, '42');
  await account.page('research_jobs', '[{"job_id":7,"status":"done","created_at":"2026-01-02T00:00:00Z"}]');
  await account.page('bulk_research_jobs', '[{"bulk_job_id":7,"state":"done"}]');
  await account.page('lists', '[{"list_id":4}]');
  await account.page('list_items', '[{"id":"a:b","added_at":"2026-01-02T00:00:00Z"}]', { parent: '4' });
  await account.page('watchlist', '[{"id":"w"}]');
  analyst = new pg.Client({ connectionString: own.url });
  await analyst.connect();
});
afterEach(() => analyst.end());

const printed = async (): Promise<string[]> =>
  (await analyst.query<[string]>({ text: QUERY, rowMode: 'array' })).rows.flat();
const makeAll = async (): Promise<void> => {
  for (const statement of await printed()) await analyst.query(statement);
};

/** The plan of a query as text, without sequential scans where an index would do. */
async function explained(query: string): Promise<string> {
  await analyst.query('set enable_seqscan = off');
  const { rows } = await analyst.query<{ 'QUERY PLAN': string }>(`explain ${query}`);
  await analyst.query('reset enable_seqscan');
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

/** What each valid index is on, as PostgreSQL prints it, by its name. */
async function made(): Promise<ReadonlyMap<string, string>> {
  const { rows } = await analyst.query<[string, string]>({
    text: `select c.relname, pg_get_indexdef(c.oid, 1, false) from pg_index i join pg_class c on c.oid = i.indexrelid
      where c.relnamespace = 'mirror'::regnamespace and c.relname ~ '_by_' and i.indisvalid order by 1`,
    rowMode: 'array',
  });
  return new Map(rows);
}

describe('the query that prints the indexes of a mirror', () => {
  it('prints indexes on present columns with what each gains and costs, and queries of the views use them', async () => {
    const statements = await printed();
    for (const statement of statements) expect(statement).toMatch(/ms; \d+ bytes a row|; 8 bytes a row/);
    // Again: present indexes are left as they are.
    for (const statement of [...statements, ...statements]) await analyst.query(statement);
    const ofKey = (table: string, key: string) => [`${table}_live`, `_key = '${key}'`, `${table}_by_key`] as const;
    const TABLES = ['research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'] as const;
    const changed = TABLES.map(
      (table) => [`${table}_live`, `_changed_at > '2026-01-01'`, `${table}_by_changed_at`] as const,
    );
    const asked = [
      ...TABLES.map((table, index) => ofKey(table, ['42:7', '42:7', '42:4', '42:4:a:b', '42:w'][index] ?? '')),
      ...changed,
      ['list_items_live', `_list_key = '42:4'`, 'list_items_by_list_key'],
      ['research_jobs_live', `status = 'done'`, 'research_jobs_by_status'],
      ['bulk_research_jobs_live', `state = 'done'`, 'bulk_research_jobs_by_state'],
      ['research_jobs_live', `created_at > '2026-01-01'`, 'research_jobs_by_created_at'],
      ['list_items_live', `added_at > '2026-01-01'`, 'list_items_by_added_at'],
    ] as const;
    expect([...(await made()).keys()].toSorted()).toEqual(asked.map(([, , index]) => index).toSorted());
    for (const [view, where, index] of asked) {
      const query = `select * from mirror.${view} where ${where}`;
      expect(await explained(query)).toMatch(new RegExp(`\\b${index}\\b`));
      expect(await account.query(query)).toHaveLength(1);
    }
  });

  it('prints the same as the statement of each kind', async () => {
    for (const statement of ONE_OF_EACH_KIND) await analyst.query(statement);
    const one = await made();
    expect(one.size).toBe(5);
    for (const name of one.keys()) await analyst.query(`drop index mirror.${name}`);
    await makeAll();
    expect([...(await made())].filter(([name]) => one.has(name))).toEqual([...one]);
  });
});

describe('an index of a user', () => {
  it('waits for an open transaction and delays no page; a new field’s column follows it', async () => {
    const reader = new pg.Client({ connectionString: own.url });
    await reader.connect();
    await reader.query('begin isolation level repeatable read; select count(*) from mirror.lists');
    const statement = (await printed()).find((text) => text.includes(' lists_by_key '));
    const making = analyst.query(statement ?? '');
    await eventually('the index to be begun', async () => {
      const begun = await account.query(`
        select from pg_index i join pg_class c on c.oid = i.indexrelid where c.relname = 'lists_by_key'`);
      return begun.length === 1;
    });
    const columns = () =>
      account.query(`select from mirror.columns where collection = 'lists' and column_name = 'title'`);
    await account.page('lists', '[{"list_id":5,"title":"five"}]');
    expect(await columns()).toHaveLength(0);
    await reader.end();
    await making;
    await account.page('lists', '[{"list_id":6,"title":"six"}]');
    expect(await columns()).toHaveLength(1);
    expect((await made()).has('lists_by_key')).toBe(true);
  });

  it('stays and is used after a new column comes and the view is recreated', async () => {
    await makeAll();
    await analyst.query('create index mine on mirror.lists (_changed_at) where _deleted_at is null');
    const before = await made();
    await account.page('lists', '[{"list_id":4,"created_at":"2026-01-02T00:00:00Z","title":"four"}]');
    expect(await made()).toEqual(before);
    const query = `select title from mirror.lists_live where _key = '42:4'`;
    expect(await explained(query)).toMatch(/\blists_by_key\b/);
    expect(await account.query(query)).toEqual([{ title: 'four' }]);
    expect(await printed()).toHaveLength(before.size + 1);
  });
});
