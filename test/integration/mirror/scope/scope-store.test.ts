import { beforeEach, describe, expect, it } from 'vitest';
import { leastOfScopes, openScope, readScope } from '../../../../src/mirror/scope-store.ts';
import { itemsWith, proveAbsent } from '../../../support/mirror/deleting.ts';
import type { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';
import { dueLists } from '../../../support/mirror/due-lists.ts';

const newAccount = testAccounts();

/** Sets columns of scopes directly. */
const set = (account: MirroredAccount, what: string, which = `collection = 'list_items'`): Promise<unknown> =>
  account.query(`update mirror_sync.scope set ${what} where _user_id = ${account.fence.userId} and ${which}`);

/** Adds a scope's row without a walk. */
const plant = (account: MirroredAccount, collection: string, parent: string): Promise<unknown> =>
  account.query(`insert into mirror_sync.scope (_user_id, collection, parent)
    values (${account.fence.userId}, '${collection}', '${parent}')`);

/** An account with lists 1, 2, …, and these columns (SQL) of their items' scopes. */
async function lists(columns: string, ...rows: readonly string[]): Promise<MirroredAccount> {
  const account = await newAccount();
  await account.page('lists', JSON.stringify(rows.map((_, index) => ({ list_id: index + 1 }))));
  await set(account, 'due_at = null');
  for (const [index, row] of rows.entries()) {
    await set(account, `(${columns}) = row(${row})`, `parent = '${index + 1}'`);
  }
  return account;
}

const due = async (account: MirroredAccount, more: Parameters<typeof dueLists>[2] = {}): Promise<string> => {
  const notReadSince = new Date('2026-02-01T00:00:00Z');
  return (await dueLists(account.database.db, account.fence.userId, { notReadSince, ...more })).join(' ');
};

describe('a scope’s row', () => {
  it('belongs to one account, one collection and one parent', async () => {
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

  it('is added when it is opened, once', async () => {
    const account = await newAccount();
    const { db } = account.database;
    const scope = account.scope('watchlist');
    const [one, other] = await Promise.all([openScope(db, scope), openScope(db, scope)]);
    expect(one).toEqual(other);
    expect(one.memory).toEqual({});
    expect(one).toMatchObject({ scope, polledAt: undefined, lastObs: 0 });
    await expect(openScope(db, { ...scope, userId: '999999' })).rejects.toThrow('account 999999 has no row');
  });

  it('returns each value in its own field', async () => {
    const account = await newAccount();
    const scope = account.scope('watchlist');
    const { db } = account.database;
    await openScope(db, scope);
    const values = `last_read_at = '2026-01-02Z', polled_at = '2026-01-03Z', full_at = '2026-01-04Z',
      full_walk = '{"cursor":"9"}', memory = '{"a":1}'`;
    await set(account, values, `collection = 'watchlist'`);
    const [lastReadAt, polledAt, fullAt] = [2, 3, 4].map((day) => new Date(Date.UTC(2026, 0, day)));
    const json = { memory: { a: 1 }, fullWalk: { cursor: '9' } };
    expect(await readScope(db, scope)).toEqual({ scope, ...json, lastReadAt, polledAt, fullAt, lastObs: 0 });
  });
});

describe('the scopes to be read', () => {
  it('are those of the account and the collection, one for each parent', async () => {
    const account = await lists('due_at', 'null');
    await lists('due_at', 'null', 'null');
    await plant(account, 'watchlist', '3');
    await plant(account, 'list_items', '');
    expect(await due(account)).toBe('1');
  });

  it('are those never read, read before the moment, or due again; not those read at that moment', async () => {
    const account = await lists(
      'last_read_at, due_at',
      'null, null',
      `'2026-01-31T23:59:59.999Z', null`,
      `'2026-02-01Z', null`,
      `'2026-02-02Z', '2026-02-03Z'`,
    );
    expect(await due(account)).toBe('4 1 2');
  });

  it('are the due ones first, then those unread longest, or these before all; never deleted lists', async () => {
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
    expect(await due(account)).toBe('4 3 2 1 5');
    expect(await due(account, { first: 'unread' })).toBe('4 2 1 5 3');
    expect(await due(account, { limit: 2 })).toBe('4 3');
    // List 7 was only polled since: a pass of full walks does not leave it out.
    expect(await due(account, { fully: true })).toContain('7');
    expect(await due(account, { except: ['4', '5'] })).toBe('3 2 1');
    // Whenever they were read.
    await set(account, `due_at = '2026-01-01Z', last_read_at = '2026-01-30Z'`, `parent = '1'`);
    expect(await due(account, { limit: 3 })).toBe('1 4 3');
  });

  it('are ordered by their last full walk if full walks are due, else by any', async () => {
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

  it('come last, or not at all, while they rest after a failure: twice as long after each, at most an hour', async () => {
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
    // A clock that went back delays none of them.
    await set(account, `last_error_at = '2026-02-01T00:00:01Z'`, `parent = '2'`);
    expect(await due(account)).toBe('1 2 4 5 3');
  });
});

let account: MirroredAccount;
let other: MirroredAccount;
beforeEach(async () => {
  account = await newAccount();
  other = await newAccount();
});

/** Rows of scopes without a walk: of another collection, and of no parent. */
const plantOthers = () => Promise.all([plant(account, 'watchlist', '2'), plant(account, 'list_items', '')]);

async function least({ database, fence } = account) {
  const of = (column: 'polled_at' | 'complete_as_of') => leastOfScopes(database.db, fence.userId, 'list_items', column);
  return { polled: await of('polled_at'), complete: await of('complete_as_of') };
}

const HOUR = 3_600_000;
const AT = Date.parse('2026-03-01T12:00:00Z');
const KNOWN = {
  polled: { least: new Date('2026-01-05T00:00:00Z'), lacking: false },
  complete: { least: new Date('2026-01-04T00:00:00Z'), lacking: false },
};
const ABSENT = { polled: { lacking: true }, complete: { lacking: true } };
const BAD = ',{"list_id":2,"n":1e999999}';

/** Reads the lists at `at`: `1`, and the given ones. The items of all are complete. */
async function read(of: MirroredAccount, more = '', at = AT): Promise<void> {
  await of.page('lists', `[{"list_id":1}${more}]`);
  await of.note('lists', { fullAt: new Date(at), lastReadAt: new Date(at) });
  await of.query(`
    update mirror.quarantine set last_seen_at = '${new Date(AT).toISOString()}' where _user_id = ${of.fence.userId}`);
  await set(of, `polled_at = '2026-01-05Z', complete_as_of = '2026-01-04Z'`);
}

describe('the moment that a collection with parents is complete as of', () => {
  it('is stored for each scope; the collection’s is the least of those that are not deleted', async () => {
    const nothing = { least: undefined, lacking: false };
    expect(await least()).toEqual({ polled: nothing, complete: nothing });
    await account.observe('lists', itemsWith('list_id', [1, 2, 3]));
    const day = (of: number): Date => new Date(Date.UTC(2026, 0, of));
    const complete = async () => (await least()).complete;
    expect(await complete()).toEqual({ least: undefined, lacking: true });
    const readItems = async (parent: string, of: number): Promise<void> => {
      await account.page('list_items', '[]', { parent });
      await account.note('list_items', { completeAsOf: day(of) }, parent);
    };
    await readItems('1', 2);
    await readItems('2', 1);
    expect(await complete()).toEqual({ least: day(1), lacking: true });
    await readItems('3', 3);
    expect(await complete()).toEqual({ least: day(1), lacking: false });
    await proveAbsent(account, 'lists', itemsWith('list_id', [1, 3]));
    await account.applyDeletions('lists');
    expect(await complete()).toEqual({ least: day(2), lacking: false });
  });

  it('is the least over the account’s own scopes with parents', async () => {
    await read(account);
    await other.page('lists', '[{"list_id":2}]');
    await plantOthers();
    expect(await least()).toEqual(KNOWN);
  });
});

describe('while parents are in quarantine, it', () => {
  it('lacks their items, in this account alone', async () => {
    await read(account, BAD);
    await read(other);
    expect(await least()).toMatchObject(ABSENT);
    expect(await least(other)).toEqual(KNOWN);
    // Another account has that list and has read its lists since.
    await read(other, ',{"list_id":2}', AT + 9 * HOUR);
    expect(await least()).toMatchObject(ABSENT);
  });

  it('lacks nothing for a parent that has a row, or for an item without key', async () => {
    await read(account, ',{"list_id":2}');
    await read(account, `${BAD},{"name":"without a key"}`);
    expect(await least()).toEqual(KNOWN);
  });

  it('lacks nothing for quarantined items of other collections', async () => {
    await read(account);
    await account.page('research_jobs', '[{"job_id":7,"n":1e999999}]');
    await account.page('list_items', '[{"id":"8","n":1e999999}]', { parent: '1' });
    await account.page('list_items', '[{"id":"1"},{"id":"2","n":1e999999}]', { parent: '1' });
    expect(await least()).toEqual(KNOWN);
    await plantOthers();
    await read(account, BAD);
    expect(await least()).toMatchObject(ABSENT);
  });

  it('lacks them until a full walk of the parents more than an hour after the parent was last seen', async () => {
    await read(account, BAD, AT + HOUR);
    expect(await least()).toMatchObject(ABSENT);
    // Other walks of the account show nothing about its parents, nor does a poll of them.
    await set(account, `full_at = '2026-03-02Z'`, `parent = '1'`);
    await account.page('watchlist', '[]');
    await account.note('watchlist', { fullAt: new Date(AT + 9 * HOUR) });
    await set(account, `last_read_at = '2026-03-02Z'`, `collection = 'lists'`);
    expect(await least()).toMatchObject(ABSENT);
    await set(account, `full_at = '${new Date(AT + HOUR + 1).toISOString()}'`, `collection = 'lists'`);
    expect(await least()).toEqual(KNOWN);
  });
});
