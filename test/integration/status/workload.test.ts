import { eventually } from '@research-mirror/runtime/testing/eventually';
import { sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { oldTransactions, readWorkload } from '../../../src/status/collect-status.ts';
import type { Config } from '../../../src/config/config.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';
import { createLoginRole } from '../../support/postgres/login-role.ts';

const database = testDatabase();
beforeAll(async () => {
  await run(`insert into mirror_sync.account (_user_id, created_at) select n, now() from generate_series(1, 3) as n`);
});

/** Settings that keep history. */
const KEPT = { history: { kept: true } } as unknown as Pick<Config, 'history'>;

const run = (text: string): Promise<unknown> => sql.raw(text).execute(database.kysely);

/** Sets credits of account 1 as of `hoursAgo`, the oldest first; the last ones are current. */
async function credits(...values: readonly (readonly [hoursAgo: number, credits: string | null])[]) {
  for (const [index, [hoursAgo, value]] of values.entries()) {
    const next = values[index + 1]?.[0];
    const at = `now() - interval '${hoursAgo} hours'`;
    const row = `1, ${value ?? 'null'}, ${at}, ${at}, extract(epoch from ${at})::bigint * 1000000, '', '{}'`;
    await run(
      next === undefined
        ? `insert into mirror.account (_user_id, credits, _first_seen_at, _changed_at, _change_id, _hash, _raw) values (${row})`
        : `insert into mirror.account_history (_user_id, credits, _first_seen_at, _changed_at, _change_id, _hash, _raw,
             _valid_from, _valid_to, _op) values (${row}, ${at}, now() - interval '${next} hours', 'update')`,
    );
  }
}

it('the workload has the size of the database', async () => {
  const { databaseBytes } = await readWorkload(database.db, KEPT);
  expect(databaseBytes).toBeGreaterThan(1_000_000);
});

it('the workload has each collection’s backlog', async () => {
  await run(`
    insert into mirror_sync.scope (_user_id, collection, parent, due_at, gone_at)
    values (1, 'lists', '', now(), null), (1, 'list_items', '1', now(), null), (1, 'list_items', '2', now(), null),
      (1, 'list_items', '3', null, null), (1, 'list_items', '4', now(), now()), (2, 'list_items', '1', now(), null)`);
  await run(`
    insert into mirror_sync.unsettled (_user_id, collection, parent, key, since, finished)
    values (1, 'list_items', '1', 'a', now(), false), (1, 'research_jobs', '', '1', now(), false),
      (1, 'research_jobs', '', '2', now(), true)`);
  await run(`
    insert into mirror_sync.backfill (_user_id, collection, field, done_through, until)
    values (2, 'watchlist', 'score', 0, 1), (2, 'watchlist', 'name', 0, 1)`);
  const { backlogs } = await readWorkload(database.db, KEPT);
  expect(Object.fromEntries(backlogs)).toEqual({
    '1/list_items': { dueLists: 2, unfinishedRows: 1, fieldsToFill: 0 },
    '1/research_jobs': { dueLists: 0, unfinishedRows: 2, fieldsToFill: 0 },
    '2/list_items': { dueLists: 1, unfinishedRows: 0, fieldsToFill: 0 },
    '2/watchlist': { dueLists: 0, unfinishedRows: 0, fieldsToFill: 2 },
  });
});

it('the workload has the credits, and by how much they fell in a day, top-ups aside', async () => {
  // Burnt: 400 before the day, 10 and 30.5 within it. 1,000 were bought, and one version has none.
  await credits([80, '900'], [30, '500'], [20, '490'], [10, null], [9, '1490'], [1, '1459.5']);
  await run(`
    insert into mirror.account (_user_id, credits, _first_seen_at, _changed_at, _change_id, _hash, _raw)
    values (2, null, now(), now(), 1, '', '{}'), (3, 7, now(), now(), 1, '', '{}')`);
  const { credits: found } = await readWorkload(database.db, KEPT);
  expect(Object.fromEntries(found)).toEqual({
    1: { left: '1459.5', burntLastDay: '40.5' },
    3: { left: '7', burntLastDay: '0' },
  });
  const without = await readWorkload(database.db, { history: { ...KEPT.history, kept: false } });
  expect(without.credits.get('1')).toEqual({ left: '1459.5', burntLastDay: null });
});

it('the workload names an old transaction, and the statement that ends it', async () => {
  const reader = await createLoginRole(database, ['mirror_reader']);
  expect(await oldTransactions(database.db, 0)).toEqual([]);
  const open = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const reading = reader.db.snapshot(async (trx) => {
    await trx.sql`select count(*) from mirror.lists`;
    begun.resolve();
    await open.promise;
    await trx.sql`select 1`;
  });
  await begun.promise;
  const found = await oldTransactions(database.db, 0);
  expect(await oldTransactions(database.db, 3_600_000)).toEqual([]);

  const said =
    /^a transaction of (test_\w+) \(research-mirror tests\) has been open for \d+ s: vacuum can’t remove .*, run "(select .*)"$/;
  expect(found).toEqual([expect.stringMatching(said)]);
  const [, user, end = ''] = said.exec(found[0] ?? '') ?? [];
  expect(user).toBe(reader.name);
  await database.db.raw(end);
  open.resolve();
  await expect(reading).rejects.toThrow(/the database/);
  // The server ends a session shortly after its client knows.
  await eventually('none to be found', async () => (await oldTransactions(database.db, 0)).length === 0);
  await reader.drop();
});
