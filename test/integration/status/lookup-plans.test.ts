import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../../src/postgres/pool.ts';
import { latestRows, newestRows, readRow, searchMirror } from '../../../src/status/lookup-store.ts';
import { parentsWithRows } from '../../../src/mirror/live-rows.ts';
import { createMigratedTestDatabase, openTestDatabase } from '../../support/databases/migrated-database.ts';

/** Rows of each large table. */
const ROWS = 20_000;
const LISTS = 20;
const ACCOUNTS = 10;
/**
 * Pages of tables and indexes that a lookup may touch: about 300 by the planner for the view of changes, and up to 130
 * for the walks of the day before a change. Each large table has more.
 */
const FEW = 500;

let database: Database;
let drop: () => Promise<void>;
beforeAll(async () => {
  const made = await createMigratedTestDatabase('mirror');
  drop = made.drop;
  // One connection, so that its statistics are this test's only.
  database = await openTestDatabase(made.url, { max: 1 });
  const own = '_first_seen_at, _changed_at, _change_id, _hash, _raw';
  const past = '_valid_from, _valid_to, _op';
  const values = `now(), now(), n, '', jsonb_build_object('name', 'Company ' || n, 'text', repeat('x', 200))`;
  const domain = `'d' || n || '.example'`;
  const fill = (table: string, columns: string, row: string, rows = ROWS): string =>
    `insert into mirror.${table} (${columns}) select ${row} from generate_series(1, ${rows}) as n`;
  const statements = [
    `insert into mirror_sync.account (_user_id, created_at) select n, now() from generate_series(1, ${ACCOUNTS}) as n`,
    fill('research_jobs', `_user_id, job_id, _domain, ${own}`, `1, n, ${domain}, ${values}`),
    fill('research_jobs_history', `_user_id, job_id, ${own}, ${past}`, `1, n, ${values}, now(), now(), 'update'`),
    'update mirror.research_jobs set _deleted_at = now(), _change_id = _change_id + 1000000 where job_id % 10 = 0',
    fill('lists', `_user_id, list_id, ${own}`, `1, n, ${values}`, LISTS),
    fill(
      'list_items',
      `_user_id, list_id, id, _domain, ${own}`,
      `1, 1 + n % ${LISTS}, 'it_' || n, ${domain}, ${values}`,
    ),
    fill('watchlist', `_user_id, id, _domain, ${own}`, `1, 'w_' || n, ${domain}, ${values}`),
    fill(
      'events',
      '_user_id, id, received_at, _raw, _collection, _key',
      `1, 'evt_' || n, now(), jsonb_build_object('text', repeat('x', 200)), 'research_jobs', n::text`,
    ),
    fill(
      'submissions',
      '_user_id, operation, payload, idempotency_key, state, response, created_at, target_id',
      `1, 'sequence', '{}', 'key_' || n, 'accepted', jsonb_build_object('job_id', n, 'text', repeat('x', 200)), now(), n`,
    ),
    fill(
      'sync_log',
      '_user_id, walk_id, collection, kind, started_at, ended_at, outcome, pages, items, inserted, updated, deleted, unchanged, quarantined, requests, rate_limited',
      `1, n, 'research_jobs', 'poll', now() - n * interval '1 min', now() - n * interval '1 min', 'done', 1, 1, 0, 0, 0, 0, 0, 1, 0`,
    ),
  ];
  for (const statement of statements) await run(statement);
});
afterAll(async () => {
  await database.close();
  await drop();
});

const run = (text: string) => sql<{ pages: number }>`${sql.raw(text)}`.execute(database.kysely);

/** Pages of the mirror's tables and indexes that were touched so far, in memory or on disk. */
async function touched(): Promise<number> {
  await run('select pg_stat_force_next_flush()');
  await run('select pg_stat_clear_snapshot()');
  const { rows } = await run(`
    select (sum(heap_blks_read + heap_blks_hit) + sum(coalesce(idx_blks_read + idx_blks_hit, 0))
      + sum(coalesce(toast_blks_read + toast_blks_hit, 0)))::float8 as pages
    from pg_statio_user_tables where schemaname = 'mirror'`);
  return rows[0]?.pages ?? 0;
}

async function touchedBy(work: () => Promise<unknown>): Promise<number> {
  const before = await touched();
  await work();
  return (await touched()) - before;
}

const STATISTICS = [
  ['without statistics', 'select 1'],
  ['with statistics', 'analyze'],
] as const;

it.each(STATISTICS)('the latest changes are read at the ends of indexes, %s', async (_, prepare) => {
  await run(prepare);
  const pages = await touchedBy(async () => expect(await latestRows(database.db, '1')).toHaveLength(20));
  expect(Math.max(pages, FEW)).toBe(FEW);
});

it.each(STATISTICS)('a search reads a few pages for each account and list, %s', async (_, prepare) => {
  await run(prepare);
  // A look into an index is two or three pages deep; each account has eight such indexes at most.
  const forAccounts = ACCOUNTS * 3 * 8;
  const forLists = LISTS * 3 * 2;
  const most = forAccounts + forLists + FEW;
  const ids = { '17': 3, '20': 3, it_17: 1, w_17: 1, evt_17: 1, key_17: 1 };
  const domains = { 'd17.example': 3, 'd20.example': 3, 'nothing.example': 0 };
  for (const [query, expected] of Object.entries({ ...ids, ...domains })) {
    const pages = await touchedBy(async () => {
      const { found } = await searchMirror(database.db, query);
      expect([query, found.length]).toEqual([query, expected]);
    });
    expect([query, Math.max(pages, most)]).toEqual([query, most]);
  }
});

it.each(STATISTICS)('the story of a row reads a few pages, %s', async (_, prepare) => {
  await run(prepare);
  for (const [userId, collection, key] of [
    ['1', 'research_jobs', '17'],
    ['1', 'research_jobs', '20'],
    ['1', 'lists', '17'],
    ['1', 'list_items', '18:it_17'],
    ['1', 'watchlist', 'w_17'],
    ['2', 'research_jobs', '17'],
  ] as const) {
    const row = { userId, collection, key };
    const pages = await touchedBy(() => readRow(database.db, row));
    expect([row, Math.max(pages, FEW)]).toEqual([row, FEW]);
    // The function alone, as an analyst calls it, whose session has no settings of ours.
    const story = `select * from mirror.row_story(${userId}, '${collection}', '${key}')`;
    const alone = await touchedBy(() => run(story));
    expect([row, Math.max(alone, FEW)]).toEqual([row, FEW]);
  }
});

it.each(STATISTICS)('the newest rows of a collection are read by their index, %s', async (_, prepare) => {
  await run(prepare);
  const asked = { userId: '1', collection: 'research_jobs', state: undefined, before: undefined } as const;
  const newest = await newestRows(database.db, asked);
  expect([newest.found.length, newest.found[0]?.state, newest.next]).toEqual([
    50,
    'deleted',
    String(1_000_000 + ROWS - 490),
  ]);
  const pages = await touchedBy(() => newestRows(database.db, { ...asked, before: String(ROWS - 500) }));
  expect(Math.max(pages, FEW)).toBe(FEW);
  // A rare state is searched in some thousands of rows, and then in the next ones.
  const none = await newestRows(database.db, { ...asked, state: 'running' });
  expect(none).toMatchObject({ found: [], next: expect.stringMatching(/^\d+$/) });
});

it.each(STATISTICS)('verify asks for the lists that have items by a few pages, %s', async (_, prepare) => {
  await run(prepare);
  const pages = await touchedBy(async () => {
    const lists = await parentsWithRows(database.db, '1', 'list_items');
    expect(new Set(lists)).toEqual(new Set(Array.from({ length: LISTS }, (__, n) => String(n + 1))));
  });
  expect(Math.max(pages, FEW)).toBe(FEW);
});
