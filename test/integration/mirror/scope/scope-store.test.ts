import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { leastOfScopes } from '../../../../src/mirror/scope/lists-as-of.ts';
import { compareNeeds, needOf } from '../../../../src/plan/next-reading.ts';
import { seeded } from '../../../support/random.ts';
import {
  type DueScopesQuery,
  needOfScopes,
  openScope,
  readScope,
} from '../../../../src/mirror/scope/scope-store.ts';
import { itemsWith, proveAbsent } from '../../../support/mirror/deleting.ts';
import type { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';
import { dueLists } from '../../../support/mirror/due-lists.ts';

const newAccount = testAccounts();

/** Sets columns of scopes, whatever a walk would have set. */
async function set(
  account: MirroredAccount,
  columns: Readonly<Record<string, string | null>>,
  { parent, collection = 'list_items' }: { readonly parent?: string; readonly collection?: string } = {},
): Promise<void> {
  const assignments = Object.entries(columns).map(([name, value]) => sql`${sql.id(name)} = ${value}`);
  await sql`
    update mirror_sync.scope set ${sql.join(assignments)}
    where _user_id = ${account.fence.userId} and collection = ${collection}
      ${parent === undefined ? sql`` : sql`and parent = ${parent}`}`.execute(account.database.kysely);
}

/** A row of a scope that no walk has made. */
async function plant(account: MirroredAccount, collection: string, parent: string): Promise<void> {
  await sql`
    insert into mirror_sync.scope (_user_id, collection, parent)
    values (${account.fence.userId}, ${collection}, ${parent})`.execute(account.database.kysely);
}

async function withLists(...ids: number[]): Promise<MirroredAccount> {
  const account = await newAccount();
  await account.page('lists', `[${ids.map((id) => `{"list_id":${id}}`).join()}]`);
  await set(account, { due_at: null });
  return account;
}

const DAY = 86_400_000;

const due = (account: MirroredAccount, more: Partial<DueScopesQuery> = {}): Promise<string[]> =>
  dueLists(account.database.db, account.fence.userId, {
    notReadSince: new Date('2026-02-01T00:00:00Z'),
    ...more,
  });

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : 1;
}

describe('a scope’s row', () => {
  it('is of one account, one collection and one parent', async () => {
    const account = await withLists(1, 2);
    const other = await withLists(1, 2);
    await set(account, { last_obs: '1' }, { parent: '1' });
    await set(account, { last_obs: '2' }, { parent: '2' });
    await set(account, { last_obs: '3' }, { collection: 'lists', parent: '' });
    await set(other, { last_obs: '4' });
    const { db } = account.database;
    const lastObs = async (collection: 'lists' | 'list_items', parent: string) =>
      (await readScope(db, account.scope(collection, parent)))?.lastObs;
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

  it('has each moment in its own field', async () => {
    const account = await newAccount();
    const scope = account.scope('watchlist');
    const { db } = account.database;
    await openScope(db, scope);
    const day = (of: number): string => `2026-01-0${of}T00:00:00.000Z`;
    const columns = ['due_at', 'last_read_at', 'polled_at', 'full_at'];
    await set(account, Object.fromEntries(columns.map((name, index) => [name, day(index + 1)])), {
      collection: 'watchlist',
    });
    await set(
      account,
      { failures: '3', full_walk: '{"cursor":"9"}', memory: '{"a":1}' },
      { collection: 'watchlist' },
    );
    await set(
      account,
      {
        changes: '1.5',
        announced: '0.5',
        watched_ms: '60000.25',
        cost: '2',
        true_alarms: '3',
        false_alarms: '0.75',
      },
      { collection: 'watchlist' },
    );
    expect(await readScope(db, scope)).toEqual({
      scope,
      memory: { a: 1 },
      dueAt: new Date(day(1)),
      lastReadAt: new Date(day(2)),
      polledAt: new Date(day(3)),
      fullAt: new Date(day(4)),
      failures: 3,
      fullWalk: { cursor: '9' },
      lastObs: 0,
      learnt: { changes: 1.5, announced: 0.5, watchedMs: 60000.25, cost: 2 },
      alarms: { trueAlarms: 3, falseAlarms: 0.75 },
    });
    await set(account, { full_walk: null }, { collection: 'watchlist' });
    expect((await readScope(db, scope))?.fullWalk).toBeUndefined();
  });
});

describe('the scopes that are to be read', () => {
  it('are the account’s and the collection’s, one for each parent', async () => {
    const account = await withLists(1);
    await withLists(2);
    await plant(account, 'watchlist', '3');
    await plant(account, 'list_items', '');
    expect(await due(account)).toEqual(['1']);
  });

  it('are those never read, read before the moment, or due again; not those read at that very moment', async () => {
    const account = await withLists(1, 2, 3, 4);
    await set(account, { last_read_at: '2026-01-31T23:59:59.999Z' }, { parent: '2' });
    await set(account, { last_read_at: '2026-02-01T00:00:00Z' }, { parent: '3' });
    await set(account, { last_read_at: '2026-02-02T00:00:00Z', due_at: '2026-02-03Z' }, { parent: '4' });
    expect(await due(account)).toEqual(['4', '1', '2']);
  });

  it('come due ones first, then those not read for a day, then those likely to have changed; deleted lists never', async () => {
    const account = await withLists(1, 2, 3, 4, 5, 6, 7);
    await account.page('list_items', '[{"id":"x","status":"open"}]', { parent: '5' });
    const now = new Date('2026-01-06T12:00:00Z');
    for (const [parent, dueAt, readAt] of [
      ['1', null, '2026-01-05Z'],
      ['2', null, '2026-01-03Z'],
      ['3', '2026-01-08Z', '2026-01-07Z'],
      ['4', '2026-01-07Z', null],
      ['5', null, '2026-01-06Z'],
      ['6', null, '2026-01-01Z'],
      ['7', null, '2026-02-02Z'],
    ] as const) {
      await set(account, { due_at: dueAt, last_read_at: readAt }, { parent });
    }
    await set(account, { gone_at: '2026-01-09Z' }, { parent: '6' });
    expect(await due(account, { now })).toEqual(['4', '3', '2', '1', '5']);
    expect(await due(account, { limit: 2 })).toEqual(['4', '3']);
    // List 7 was read since, but by a poll: a pass of full walks does not leave it out.
    expect(await due(account, { fully: true })).toContain('7');
    expect(await due(account, { except: ['4', '5'], now })).toEqual(['3', '2', '1']);
    // Whenever they were read.
    await set(account, { due_at: '2026-01-01Z', last_read_at: '2026-01-30Z' }, { parent: '1' });
    expect(await due(account, { limit: 3 })).toEqual(['1', '4', '3']);
  });

  it('come in the order of their last full walk where full walks are to be made, else of any', async () => {
    const account = await withLists(1, 2, 3, 4);
    for (const [parent, full, read] of [
      ['1', '2026-01-03Z', '2026-01-04Z'],
      ['2', '2026-01-01Z', '2026-01-06Z'],
      ['3', '2026-01-02Z', '2026-01-05Z'],
      ['4', null, '2026-01-07Z'],
    ] as const) {
      await set(account, { full_at: full, last_read_at: read }, { parent });
    }
    expect(await due(account, { fully: true })).toEqual(['4', '2', '3', '1']);
    expect(await due(account)).toEqual(['1', '3', '2', '4']);
  });

  it('come for a change of their row only as long as that has meant something, or where they are to be read anyway', async () => {
    const account = await withLists(1, 2, 3, 4, 5);
    const now = new Date('2026-02-01T12:00:00Z');
    for (const [parent, readAt, trueAlarms, falseAlarms] of [
      ['1', '2026-02-01T11:00Z', '0', '8'],
      ['2', '2026-02-01T11:00Z', '0', '8.5'],
      ['3', '2026-02-01T11:00Z', '2', '15'],
      ['4', '2026-01-31T12:00Z', '0', '20'],
      ['5', null, '0', '20'],
    ] as const) {
      const alarms = { true_alarms: trueAlarms, false_alarms: falseAlarms };
      await set(
        account,
        { due_at: `2026-02-01T11:0${parent}Z`, last_read_at: readAt, ...alarms },
        { parent },
      );
    }
    // List 2, whose row was only ever wrong, comes with those that are to be read in any case, by its need.
    const run = { notReadSince: new Date('2026-02-01T12:00:00Z'), now };
    expect(await due(account, run)).toEqual(['1', '3', '4', '5', '2']);
    const dueOnly = { notReadSince: new Date(0), now };
    expect(await due(account, dueOnly)).toEqual(['1', '3', '4', '5']);
    expect(await due(account, { ...dueOnly, announced: 'all' })).toEqual(['1', '2', '3', '4', '5']);
    expect(await due(account, { ...run, first: 'oldest' })).toEqual(['4', '1', '3', '5', '2']);
  });

  it('come last, or not at all, while they rest after a failure: twice as long after each, an hour at most', async () => {
    const account = await withLists(1, 2, 3, 4, 5);
    const failed = (parent: string, failures: number, at: string): Promise<void> =>
      set(account, { due_at: '2026-01-01Z', failures: String(failures), last_error_at: at }, { parent });
    await failed('1', 1, '2026-01-31T23:59:58.5Z');
    await failed('2', 5, '2026-01-31T23:59:45Z');
    await failed('3', 2_000_000_000, '2026-01-31T23:00:01Z');
    await failed('4', 20, '2026-01-31T22:59:59Z');
    expect(await due(account)).toEqual(['1', '4', '5', '2', '3']);
    expect(await due(account, { resting: 'out' })).toEqual(['1', '4', '5']);
    expect(await due(account, { fully: true })).toEqual(['1', '4', '5', '2', '3']);
    // A clock that went back keeps none of them waiting.
    await failed('2', 5, '2026-02-01T00:00:01Z');
    expect(await due(account)).toEqual(['1', '2', '4', '5', '3']);
  });

  it('are not sooner for unfinished rows of other scopes', async () => {
    const account = await withLists(1, 2);
    const other = await withLists(1, 2);
    await set(account, { last_read_at: '2026-01-31T12:00Z' }, { parent: '1' });
    await set(account, { last_read_at: '2026-01-31T13:00Z' }, { parent: '2' });
    await other.page('list_items', '[{"id":"x","status":"open"}]', { parent: '2' });
    await plant(account, 'watchlist', '2');
    await account.page('watchlist', '[{"id":"x","status":"open"}]', { parent: '2' });
    expect(await due(account)).toEqual(['1', '2']);
    await account.page('list_items', '[{"id":"x","status":"open"}]', { parent: '2' });
    expect(await due(account)).toEqual(['2', '1']);
  });

  it('come in the order of the planner', async () => {
    const account = await withLists(...Array.from({ length: 60 }, (_, index) => index + 1));
    const random = seeded(1);
    const now = new Date('2026-02-01T00:00:00Z');
    const lists = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
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
        const readAt = sinceMs === undefined ? null : new Date(now.getTime() - sinceMs).toISOString();
        const parent = String(index + 1);
        const stored = {
          last_read_at: readAt,
          changes: String(changes),
          announced: String(learnt.announced),
          watched_ms: String(learnt.watchedMs),
          cost: String(learnt.cost),
          due_at: dueMs === undefined ? null : new Date(now.getTime() - dueMs).toISOString(),
          true_alarms: String(alarms.trueAlarms),
          false_alarms: String(alarms.falseAlarms),
        };
        await set(account, stored, { parent });
        const announced = dueMs === undefined ? undefined : { sinceMs: dueMs, alarms };
        const readable = { sinceMs, learnt, announced, longestMs: DAY, priorMs: DAY, unannounced: 0.4 };
        return { parent, need: needOf(readable) };
      }),
    );
    const planned = lists.toSorted(
      (a, b) => compareNeeds(a.need, b.need) || compareTexts(a.parent, b.parent),
    );
    expect(await due(account, { now, limit: 60 })).toEqual(planned.map(({ parent }) => parent));
  });
});

describe('all lists together', () => {
  it('need what each of them needs, of changes that nothing announces; those that are gone need nothing', async () => {
    const account = await withLists(1, 2, 3);
    const numbers = (changes: number, announced: number, watched: number, cost: number) => ({
      changes: String(changes),
      announced: String(announced),
      watched_ms: String(watched),
      cost: String(cost),
    });
    await set(account, numbers(5, 2, DAY, 1.5), { parent: '1' });
    await set(account, numbers(1, 1, 0, 4), { parent: '2' });
    await set(account, { ...numbers(900, 0, 0, 9), gone_at: '2026-01-01Z' }, { parent: '3' });
    await sql`
      insert into mirror_sync.unsettled (_user_id, collection, parent, key, since, finished)
      values (${account.fence.userId}, 'list_items', '2', '7', now(), false)`.execute(
      account.database.kysely,
    );
    const { userId } = account.fence;
    const { count, requests, need } = await needOfScopes(account.database.db, userId, 'list_items');
    const roots = Math.sqrt((1.5 * 6) / (2 * DAY)) + Math.sqrt((4 * 2) / (DAY / 24));
    expect([count, requests]).toEqual([2, 5.5]);
    expect(need).toBeCloseTo(roots * Math.sqrt((2 + 3) / (2 + 6)), 9);
  });

  it('are read again in one run as long as others are left over, those that need it most before these', async () => {
    const account = await withLists(1, 2, 3);
    const now = new Date('2026-02-01T00:01:00Z');
    const read = { watched_ms: String(DAY) };
    await set(account, { ...read, changes: '900', last_read_at: '2026-02-01T00:00:30Z' }, { parent: '1' });
    await set(account, { ...read, changes: '1', last_read_at: '2026-02-01T00:00:30Z' }, { parent: '2' });
    await set(account, { ...read, changes: '1', last_read_at: '2026-01-31T23:59:00Z' }, { parent: '3' });
    expect(await due(account, { now })).toEqual(['3']);
    expect(await due(account, { now, again: true })).toEqual(['1', '3', '2']);
    expect(await due(account, { now, again: true, except: ['3'] })).toEqual([]);
    await set(account, { gone_at: '2026-01-01Z' }, { parent: '3' });
    expect(await due(account, { now, again: true })).toEqual([]);
  });
});

describe('as of when a collection with parents is whole', () => {
  const least = async (account: MirroredAccount) => {
    const { db } = account.database;
    const { userId } = account.fence;
    const polled = await leastOfScopes(db, userId, 'list_items', 'polled_at');
    const complete = await leastOfScopes(db, userId, 'list_items', 'complete_as_of');
    return { polled, complete };
  };
  const WHOLE = { polled_at: '2026-01-05Z', complete_as_of: '2026-01-04Z' };
  const KNOWN = {
    polled: { least: new Date('2026-01-05T00:00:00Z'), lacking: false },
    complete: { least: new Date('2026-01-04T00:00:00Z'), lacking: false },
  };

  it('is not known where there is no scope, and nothing is lacking', async () => {
    const account = await newAccount();
    const nothing = { least: undefined, lacking: false };
    expect(await least(account)).toEqual({ polled: nothing, complete: nothing });
  });

  it('is kept for each scope, and is the least of them for the collection, but for those that are deleted', async () => {
    const account = await newAccount();
    await account.observe('lists', itemsWith('list_id', [1, 2, 3]));
    const { db } = account.database;
    const complete = () => leastOfScopes(db, account.fence.userId, 'list_items', 'complete_as_of');
    const read = (parent: string, day: number) =>
      account.page('list_items', '[]', {
        parent,
        decide: () => ({ scope: { completeAsOf: new Date(Date.UTC(2026, 0, day)) } }),
      });
    await read('1', 2);
    await read('2', 1);
    expect(await complete()).toEqual({ least: new Date('2026-01-01T00:00:00Z'), lacking: true });
    await read('3', 3);
    expect(await complete()).toEqual({ least: new Date('2026-01-01T00:00:00Z'), lacking: false });
    await proveAbsent(account, 'lists', itemsWith('list_id', [1, 3]));
    await account.applyDeletions('lists');
    expect(await complete()).toEqual({ least: new Date('2026-01-02T00:00:00Z'), lacking: false });
  });

  it('is the least over the account’s own scopes with parents', async () => {
    const account = await withLists(1);
    await set(account, WHOLE);
    await withLists(2);
    await plant(account, 'watchlist', '3');
    await plant(account, 'list_items', '');
    expect(await least(account)).toEqual(KNOWN);
  });

  describe('while parents are in quarantine', () => {
    const ABSENT = { polled: { lacking: true }, complete: { lacking: true } };
    const HOUR = 3_600_000;
    const AT = Date.parse('2026-03-01T12:00:00Z');

    /** Reads the lists at `at`: `1`, and what else is given. */
    async function read(account: MirroredAccount, bad: string, at = AT, fullAt = at): Promise<void> {
      await account.page('lists', `[{"list_id":1}${bad}]`, {
        decide: () => ({ scope: { fullAt: new Date(fullAt), lastReadAt: new Date(fullAt) } }),
      });
      await account.query(
        `update mirror.quarantine set last_seen_at = '${new Date(at).toISOString()}' where _user_id = ${account.fence.userId}`,
      );
      await set(account, WHOLE);
    }
    const BAD = ',{"list_id":2,"n":1e999999}';

    it('is lacking their items, in this account alone', async () => {
      const account = await newAccount();
      await read(account, BAD);
      const other = await newAccount();
      await read(other, '');
      expect(await least(account)).toMatchObject(ABSENT);
      expect(await least(other)).toEqual(KNOWN);
      // Another account has that list, and has read its lists since.
      await read(other, ',{"list_id":2}', AT + 9 * HOUR);
      expect(await least(account)).toMatchObject(ABSENT);
    });

    it('is not lacking for a parent that has a row, or an item without key', async () => {
      const account = await newAccount();
      await read(account, ',{"list_id":2}');
      await read(account, `${BAD},{"name":"without a key"}`);
      expect(await least(account)).toEqual(KNOWN);
    });

    it('is not lacking for items of other collections in quarantine', async () => {
      const account = await newAccount();
      await read(account, '');
      await account.page('research_jobs', '[{"job_id":7,"n":1e999999}]');
      await account.page('list_items', '[{"id":"8","n":1e999999}]', { parent: '1' });
      await account.page('list_items', '[{"id":"1"},{"id":"2","n":1e999999}]', { parent: '1' });
      expect(await least(account)).toEqual(KNOWN);
      await plant(account, 'watchlist', '2');
      await read(account, BAD);
      expect(await least(account)).toMatchObject(ABSENT);
    });

    it('is lacking until a full walk of the parents more than an hour after the parent was last seen', async () => {
      const account = await newAccount();
      await read(account, BAD, AT, AT + HOUR);
      expect(await least(account)).toMatchObject(ABSENT);
      // Other walks of the account show nothing about its parents, nor does a poll of them.
      await set(account, { full_at: '2026-03-02Z' }, { parent: '1' });
      await account.page('watchlist', '[]', {
        decide: () => ({ scope: { fullAt: new Date(AT + 9 * HOUR) } }),
      });
      await set(account, { last_read_at: '2026-03-02Z' }, { collection: 'lists' });
      expect(await least(account)).toMatchObject(ABSENT);
      await set(account, { full_at: new Date(AT + HOUR + 1).toISOString() }, { collection: 'lists' });
      expect(await least(account)).toEqual(KNOWN);
    });
  });
});
