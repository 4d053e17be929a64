import { describe, expect, it } from 'vitest';
import { compareNeeds, needOf } from '../../../../src/plan/next-reading.ts';
import { seeded } from '../../../support/random.ts';
import {
  type DueScopesQuery,
  needOfScopes,
  openScope,
  readScope,
} from '../../../../src/mirror/scope/scope-store.ts';
import type { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';
import { dueLists } from '../../../support/mirror/due-lists.ts';

const newAccount = testAccounts();
const DAY = 86_400_000;

/** Sets columns of scopes, whatever a walk would have set. */
const set = (account: MirroredAccount, what: string, which = `collection = 'list_items'`): Promise<unknown> =>
  account.query(`update mirror_sync.scope set ${what} where _user_id = ${account.fence.userId} and ${which}`);

/** A row of a scope that no walk has made. */
const plant = (account: MirroredAccount, collection: string, parent: string): Promise<unknown> =>
  account.query(`insert into mirror_sync.scope (_user_id, collection, parent)
    values (${account.fence.userId}, '${collection}', '${parent}')`);

/** An account with lists 1, 2, …; of each, these columns of its items' scope, as SQL has them. */
async function lists(columns: string, ...rows: readonly string[]): Promise<MirroredAccount> {
  const account = await newAccount();
  await account.page('lists', JSON.stringify(rows.map((_, index) => ({ list_id: index + 1 }))));
  await set(account, 'due_at = null');
  for (const [index, row] of rows.entries()) {
    await set(account, `(${columns}) = row(${row})`, `parent = '${index + 1}'`);
  }
  return account;
}

const due = async (account: MirroredAccount, more: Partial<DueScopesQuery> = {}): Promise<string> => {
  const notReadSince = new Date('2026-02-01T00:00:00Z');
  return (await dueLists(account.database.db, account.fence.userId, { notReadSince, ...more })).join(' ');
};

describe('a scope’s row', () => {
  it('is of one account, one collection and one parent', async () => {
    const account = await lists('last_obs', '1', '2');
    await lists('last_obs', '4', '4');
    await set(account, 'last_obs = 3', `collection = 'lists'`);
    const lastObs = async (collection: 'lists' | 'list_items', parent: string) =>
      (await readScope(account.database.db, account.scope(collection, parent)))?.lastObs;
    expect(await lastObs('list_items', '1')).toBe(1);
    expect(await lastObs('list_items', '2')).toBe(2);
    expect(await lastObs('lists', '')).toBe(3);
    expect(await lastObs('lists', '1')).toBeUndefined();
  });

  it('is made when it is opened, once', async () => {
    const account = await newAccount();
    const { db } = account.database;
    const scope = account.scope('watchlist');
    const [one, other] = await Promise.all([openScope(db, scope), openScope(db, scope)]);
    expect(one).toEqual(other);
    expect(one.memory).toEqual({});
    expect(one).toMatchObject({ scope, dueAt: undefined, lastObs: 0, failures: 0 });
    await expect(openScope(db, { ...scope, userId: '999999' })).rejects.toThrow('account 999999 has no row');
  });

  it('has each value in its own field', async () => {
    const account = await newAccount();
    const scope = account.scope('watchlist');
    const { db } = account.database;
    await openScope(db, scope);
    await set(
      account,
      `due_at = '2026-01-01Z', last_read_at = '2026-01-02Z', polled_at = '2026-01-03Z', full_at = '2026-01-04Z',
      failures = 3, full_walk = '{"cursor":"9"}', memory = '{"a":1}', changes = 1.5, announced = 0.5, watched_ms = 60000.25, cost = 2,
      true_alarms = 3, false_alarms = 0.75`,
      `collection = 'watchlist'`,
    );
    const day = (of: number): Date => new Date(Date.UTC(2026, 0, of));
    expect(await readScope(db, scope)).toEqual({
      scope,
      memory: { a: 1 },
      dueAt: day(1),
      lastReadAt: day(2),
      polledAt: day(3),
      fullAt: day(4),
      failures: 3,
      fullWalk: { cursor: '9' },
      lastObs: 0,
      learnt: { changes: 1.5, announced: 0.5, watchedMs: 60000.25, cost: 2 },
      alarms: { trueAlarms: 3, falseAlarms: 0.75 },
    });
  });
});

describe('the scopes that are to be read', () => {
  it('are the account’s and the collection’s, one for each parent', async () => {
    const account = await lists('due_at', 'null');
    await lists('due_at', 'null', 'null');
    await plant(account, 'watchlist', '3');
    await plant(account, 'list_items', '');
    expect(await due(account)).toBe('1');
  });

  it('are those never read, read before the moment, or due again; not those read at that very moment', async () => {
    const account = await lists(
      'last_read_at, due_at',
      'null, null',
      `'2026-01-31T23:59:59.999Z', null`,
      `'2026-02-01Z', null`,
      `'2026-02-02Z', '2026-02-03Z'`,
    );
    expect(await due(account)).toBe('4 1 2');
  });

  it('come due ones first, then those not read for a day, then those likely to have changed; deleted lists never', async () => {
    const account = await lists(
      'due_at, last_read_at, gone_at',
      `null, '2026-01-05Z', null`,
      `null, '2026-01-03Z', null`,
      `'2026-01-08Z', '2026-01-07Z', null`,
      `'2026-01-07Z', null, null`,
      `null, '2026-01-06Z', null`,
      `null, '2026-01-01Z', '2026-01-09Z'`,
      `null, '2026-02-02Z', null`,
    );
    await account.page('list_items', '[{"id":"x","status":"open"}]', { parent: '5' });
    const now = new Date('2026-01-06T12:00:00Z');
    expect(await due(account, { now })).toBe('4 3 2 1 5');
    expect(await due(account, { limit: 2 })).toBe('4 3');
    // List 7 was read since, but by a poll: a pass of full walks does not leave it out.
    expect(await due(account, { fully: true })).toContain('7');
    expect(await due(account, { except: ['4', '5'], now })).toBe('3 2 1');
    // Whenever they were read.
    await set(account, `due_at = '2026-01-01Z', last_read_at = '2026-01-30Z'`, `parent = '1'`);
    expect(await due(account, { limit: 3 })).toBe('1 4 3');
  });

  it('come in the order of their last full walk where full walks are to be made, else of any', async () => {
    const account = await lists(
      'full_at, last_read_at',
      `'2026-01-03Z', '2026-01-04Z'`,
      `'2026-01-01Z', '2026-01-06Z'`,
      `'2026-01-02Z', '2026-01-05Z'`,
      `null, '2026-01-07Z'`,
    );
    expect(await due(account, { fully: true })).toBe('4 2 3 1');
    expect(await due(account)).toBe('1 3 2 4');
  });

  it('come for a change of their row only as long as that has meant something, or where they are to be read anyway', async () => {
    const now = new Date('2026-02-01T12:00:00Z');
    const account = await lists(
      'due_at, last_read_at, true_alarms, false_alarms',
      `'2026-02-01T11:01Z', '2026-02-01T11:00Z', 0, 8`,
      `'2026-02-01T11:02Z', '2026-02-01T11:00Z', 0, 8.5`,
      `'2026-02-01T11:03Z', '2026-02-01T11:00Z', 2, 15`,
      `'2026-02-01T11:04Z', '2026-01-31T12:00Z', 0, 20`,
      `'2026-02-01T11:05Z', null, 0, 20`,
    );
    // List 2, whose row was only ever wrong, comes with those that are to be read in any case, by its need.
    const run = { notReadSince: new Date('2026-02-01T12:00:00Z'), now };
    expect(await due(account, run)).toBe('1 3 4 5 2');
    const dueOnly = { notReadSince: new Date(0), now };
    expect(await due(account, dueOnly)).toBe('1 3 4 5');
    expect(await due(account, { ...dueOnly, announced: 'all' })).toBe('1 2 3 4 5');
    expect(await due(account, { ...run, first: 'oldest' })).toBe('4 1 3 5 2');
  });

  it('come last, or not at all, while they rest after a failure: twice as long after each, an hour at most', async () => {
    const account = await lists(
      'due_at, failures, last_error_at',
      `'2026-01-01Z', 1, '2026-01-31T23:59:58.5Z'`,
      `'2026-01-01Z', 5, '2026-01-31T23:59:45Z'`,
      `'2026-01-01Z', 2000000000, '2026-01-31T23:00:01Z'`,
      `'2026-01-01Z', 20, '2026-01-31T22:59:59Z'`,
      'null, 0, null',
    );
    expect(await due(account)).toBe('1 4 5 2 3');
    expect(await due(account, { resting: 'out' })).toBe('1 4 5');
    expect(await due(account, { fully: true })).toBe('1 4 5 2 3');
    // A clock that went back keeps none of them waiting.
    await set(account, `last_error_at = '2026-02-01T00:00:01Z'`, `parent = '2'`);
    expect(await due(account)).toBe('1 2 4 5 3');
  });

  it('are not sooner for unfinished rows of other scopes', async () => {
    const account = await lists('last_read_at', `'2026-01-31T12:00Z'`, `'2026-01-31T13:00Z'`);
    const other = await lists('due_at', 'null', 'null');
    const open = (of: MirroredAccount, name: 'watchlist' | 'list_items'): Promise<unknown> =>
      of.page(name, '[{"id":"x","status":"open"}]', { parent: '2' });
    await open(other, 'list_items');
    await plant(account, 'watchlist', '2');
    await open(account, 'watchlist');
    expect(await due(account)).toBe('1 2');
    await open(account, 'list_items');
    expect(await due(account)).toBe('2 1');
  });

  it('come in the order of the planner', async () => {
    const random = seeded(1);
    const now = new Date('2026-02-01T00:00:00Z');
    const before = (ms: number | undefined): string =>
      ms === undefined ? 'null' : `'${new Date(now.getTime() - ms).toISOString()}'`;
    const planned = Array.from({ length: 60 }, (_, index) => {
      const sinceMs = index < 5 ? undefined : Math.round(1 + random() * 1.2 * DAY);
      const changes = random() < 0.5 ? 0 : random() * 100;
      const learnt = {
        changes,
        // How much of its changes events told counts for all lists alike, and not for their order.
        announced: random() * changes,
        watchedMs: random() * 3 * DAY,
        cost: 1 + Math.floor(random() * 3),
      };
      const dueMs = random() < 0.5 ? undefined : 1 + index + Math.round(random() * 1000) * 1000;
      const alarms = { trueAlarms: random() * 5, falseAlarms: random() * 40 };
      const told = Object.values({ ...learnt, ...alarms }).join();
      const row = `${before(sinceMs)}, ${before(dueMs)}, ${told}`;
      const announced = dueMs === undefined ? undefined : { sinceMs: dueMs, alarms };
      const readable = { sinceMs, learnt, announced, longestMs: DAY, priorMs: DAY, unannounced: 0.4 };
      return { parent: String(index + 1), row, need: needOf(readable) };
    });
    const account = await lists(
      'last_read_at, due_at, changes, announced, watched_ms, cost, true_alarms, false_alarms',
      ...planned.map(({ row }) => row),
    );
    const inOrder = planned.toSorted(
      (a, b) => compareNeeds(a.need, b.need) || (a.parent < b.parent ? -1 : 1),
    );
    expect(await due(account, { now, limit: 60 })).toBe(inOrder.map(({ parent }) => parent).join(' '));
  });
});

describe('all lists together', () => {
  it('need what each of them needs, of changes that nothing announces; those that are gone need nothing', async () => {
    const account = await lists(
      'changes, announced, watched_ms, cost, gone_at',
      `5, 2, ${DAY}, 1.5, null`,
      '1, 1, 0, 4, null',
      `900, 0, 0, 9, '2026-01-01Z'`,
    );
    await account.query(`
      insert into mirror_sync.unsettled (_user_id, collection, parent, key, since, finished)
      values (${account.fence.userId}, 'list_items', '2', '7', now(), false)`);
    const { count, requests, need } = await needOfScopes(
      account.database.db,
      account.fence.userId,
      'list_items',
    );
    const roots = Math.sqrt((1.5 * 6) / (2 * DAY)) + Math.sqrt((4 * 2) / (DAY / 24));
    expect([count, requests]).toEqual([2, 5.5]);
    expect(need).toBeCloseTo(roots * Math.sqrt((2 + 3) / (2 + 6)), 9);
  });

  it('are read again in one run as long as others are left over, those that need it most before these', async () => {
    const now = new Date('2026-02-01T00:01:00Z');
    const account = await lists(
      'watched_ms, changes, last_read_at',
      `${DAY}, 900, '2026-02-01T00:00:30Z'`,
      `${DAY}, 1, '2026-02-01T00:00:30Z'`,
      `${DAY}, 1, '2026-01-31T23:59:00Z'`,
    );
    expect(await due(account, { now })).toBe('3');
    expect(await due(account, { now, again: true })).toBe('1 3 2');
    expect(await due(account, { now, again: true, except: ['3'] })).toBe('');
    await set(account, `gone_at = '2026-01-01Z'`, `parent = '3'`);
    expect(await due(account, { now, again: true })).toBe('');
  });
});
