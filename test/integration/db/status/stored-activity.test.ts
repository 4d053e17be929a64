import { sql } from 'kysely';
import { afterAll, beforeEach, expect, it } from 'vitest';
import type { ActivityStatus } from '../../../../src/model/status/status-report.ts';
import { type AccountWork, readActivity, storeActivity } from '../../../../src/db/status/stored-activity.ts';
import {
  createMigratedDatabase,
  type MigratedDatabase,
} from '../../../support/databases/migrated-database.ts';

let database: MigratedDatabase | undefined;
const db = () => {
  if (database === undefined) throw new RangeError('no test runs');
  return database.db;
};
const run = (text: string): Promise<unknown> => sql.raw(text).execute(db());

beforeEach(async () => {
  database ??= await createMigratedDatabase();
  await run('truncate mirror_sync.account, mirror_sync.activity, mirror._collections');
  await run(`insert into mirror_sync.account (_user_id, state, created_at)
    values (1, 'active', now()), (2, 'active', now()), (3, 'retired', now())`);
});
afterAll(() => database?.drop());

const at = (time: string): number => Date.parse(`2026-03-01T${time}Z`);
const work = (userId: string, changes: number, requests: number): AccountWork => ({
  userId,
  changes,
  requests,
});
const store = (time: string, ...all: AccountWork[]): Promise<void> => storeActivity(db(), at(time), all);

async function read(time: string, userId = '1'): Promise<ActivityStatus | undefined> {
  return (await readActivity(db(), new Date(at(time)))).get(userId);
}

/** The last values of each list. */
async function ends(time: string, userId?: string): Promise<readonly (readonly (number | null)[])[]> {
  const found = await read(time, userId);
  if (found === undefined) return [];
  const { ageSeconds, liveRows, changes, requests } = found;
  expect([ageSeconds, liveRows, changes, requests].map((each) => each.length)).toEqual([288, 288, 288, 288]);
  return [ageSeconds, liveRows, changes, requests].map((each) => each.slice(-2));
}

function collection(user: number, name: string, rows: number, polled: string | null, paused = false) {
  const moment = polled === null ? 'null' : `'2026-03-01T${polled}Z'`;
  return run(`insert into mirror._collections (_user_id, collection, live_rows, polled_at, paused_at)
    values (${user}, '${name}', ${rows}, ${moment}, ${paused ? 'now()' : 'null'})
    on conflict (_user_id, collection) do update set live_rows = excluded.live_rows, polled_at = excluded.polled_at`);
}

it('adds up what was done in five minutes, keeps the worst age and the last count of rows', async () => {
  await collection(1, 'lists', 10, '11:59:00');
  await collection(1, 'watchlist', 5, '11:58:30');
  await collection(1, 'research_jobs', 100, '01:00:00', true);
  await store('12:00:30', work('1', 3, 7), work('2', 0, 1));
  await collection(1, 'lists', 11, '12:01:00');
  await collection(1, 'watchlist', 5, '12:01:10');
  await store('12:01:30.900', work('1', 4, 8), work('2', 0, 1));
  expect(await ends('12:03:00')).toEqual([
    [null, 120],
    [null, 116],
    [null, 7],
    [null, 15],
  ]);
  await store('12:05:00', work('1', 1, 1));
  expect(await ends('12:05:00')).toEqual([
    [120, 240],
    [116, 116],
    [7, 1],
    [15, 1],
  ]);
  // Nothing is known of its collections: it has no age.
  expect(await ends('12:03:00', '2')).toEqual([
    [null, null],
    [null, 0],
    [null, 0],
    [null, 2],
  ]);
});

it('has no age while a collection was never read', async () => {
  await collection(1, 'lists', 0, '11:59:00');
  await collection(1, 'watchlist', 0, null);
  await store('12:00:30', work('1', 0, 0));
  expect((await ends('12:00:30'))[0]).toEqual([null, null]);
});

it('reads the last 24 hours, with gaps, and writes over the day before', async () => {
  await collection(1, 'lists', 10, '12:01:00');
  await storeActivity(db(), at('12:02:00') - 86_400_000, [work('1', 100, 100)]);
  await run('update mirror_sync.activity set age_seconds = 5000');
  await storeActivity(db(), at('12:07:00') - 86_400_000, [work('1', 50, 50)]);
  await store('11:50:00', work('1', 5, 5));
  const before = await read('12:04:59');
  expect(before).toMatchObject({ from: '2026-02-28T12:05:00.000Z', everySeconds: 300 });
  expect(before?.changes.flatMap((value, index) => (value === null ? [] : [[index, value]]))).toEqual([
    [0, 50],
    [285, 5],
  ]);
  await store('12:02:00', work('1', 1, 2));
  expect((await ends('12:04:59')).map((each) => each[1])).toEqual([60, 10, 1, 2]);
  const { rows } = await db().sql<{ rows: number }>`
    select count(*)::int as rows from ${db().stateTable('activity')}`;
  expect(rows).toEqual([{ rows: 3 }]);
  expect(await read('12:04:59', '2')).toBeUndefined();
});

it('takes no row of a time to come for one of the last day: clocks go back', async () => {
  await store('12:00:00', work('1', 1, 1));
  expect(await read('11:00:00')).toBeUndefined();
});

it('keeps nothing of an account that is retired or not known', async () => {
  await store('12:00:00', work('3', 1, 1), work('4', 1, 1), work('1', 0, 0));
  expect([...(await readActivity(db(), new Date(at('12:00:00')))).keys()]).toEqual(['1']);
});

it('adds what two processes did that took the account from each other', async () => {
  await Promise.all([
    store('12:00:30', work('1', 1, 1), work('2', 1, 1)),
    store('12:00:30', work('2', 1, 1), work('1', 1, 1)),
  ]);
  expect((await ends('12:00:30'))[3]?.at(-1)).toBe(2);
  expect((await ends('12:00:30', '2'))[3]?.at(-1)).toBe(2);
});
