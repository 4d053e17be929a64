import * as fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { compareKeys } from '../../../../src/model/key.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import {
  forgetFailed,
  liveCount,
  nthNewest,
  predecessor,
  predecessorQuery,
  unfinishedRows,
} from '../../../../src/mirror/page/known-rows.ts';
import { leastOfScopes } from '../../../../src/mirror/scope/lists-as-of.ts';
import { dueScopes, openScope } from '../../../../src/mirror/scope/scope-store.ts';
import { createMigratedDatabase } from '../../../support/databases/migrated-database.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

describe('known rows', () => {
  const bigintKey = fc.bigInt({ min: -20n, max: 200n }).map(String);
  const textKey = fc.oneof(
    fc.integer({ min: 0, max: 120 }).map(String),
    fc.constantFrom('a', 'é', 'zz', 'A', '~', 'ab-10'),
  );
  const cases: readonly (readonly [CollectionName, 'bigint' | 'text', fc.Arbitrary<string>])[] = [
    ['research_jobs', 'bigint', bigintKey],
    ['watchlist', 'text', textKey],
  ];

  it.each(cases)(
    'of %s lie in the order that compareKeys gives, deleted ones left out',
    async (name, type, key) => {
      const field = name === 'watchlist' ? 'id' : 'job_id';
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(key, { minLength: 1, maxLength: 15 }),
          fc.array(fc.nat(14), { maxLength: 4 }),
          key,
          fc.integer({ min: 1, max: 4 }),
          async (keys, gone, of, nth) => {
            const account = await newAccount();
            await account.page(
              name,
              `[${keys.map((each) => `{"${field}":${type === 'text' ? `"${each}"` : each}}`).join()}]`,
            );
            const deleted = new Set(gone.map((index) => keys[index] ?? ''));
            await sql`update ${sql.id('mirror', name)} set _deleted_at = now()
            where _user_id = ${account.fence.userId} and ${sql.id(field)}::text = any(${[...deleted]}::text[])`.execute(
              account.database.kysely,
            );
            const live = keys
              .filter((each) => !deleted.has(each))
              .toSorted((a, b) => compareKeys(type, a, b));
            const scope = account.scope(name);
            const below = live.filter((each) => compareKeys(type, each, of) < 0).toReversed();
            const above = live.filter((each) => compareKeys(type, each, of) > 0);
            const { db } = account.database;
            expect(await predecessor(db, scope, 'rising', of, nth)).toBe(below[nth - 1] ?? below.at(-1));
            expect(await predecessor(db, scope, 'falling', of, nth)).toBe(above[nth - 1] ?? above.at(-1));
            expect(await nthNewest(db, scope, nth)).toBe(live.at(-nth));
          },
        ),
        { numRuns: 25 },
      );
    },
  );

  it.each([
    ['research_jobs', 'job_id', '', 'research_jobs_pkey'],
    ['watchlist', 'id', '', 'watchlist_order'],
    ['list_items', 'list_id, id', '1', 'list_items_order'],
  ] as const)('of %s are found by an index, without a sort', async (table, keys, parent, index) => {
    const own = await createMigratedDatabase();
    await sql
      .raw(
        `insert into mirror.${table} (_user_id, ${keys}, _first_seen_at, _changed_at, _change_id, _hash, _raw)
         select u, ${parent === '' ? 'n' : '1, n'}, now(), now(), n, '', '{}'
         from generate_series(1, 3) u, generate_series(1, 5000) n`,
      )
      .execute(own.kysely);
    await sql.raw(`analyze mirror.${table}`).execute(own.kysely);
    for (const direction of ['falling', 'rising'] as const) {
      const scope = { userId: '1', collection: table, parent };
      const query = predecessorQuery(own.db, scope, direction, '2500', 200);
      const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${query}`.execute(own.kysely);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toContain(`using ${index}`);
      expect(plan).not.toMatch(/Sort|Seq Scan/);
    }
    await own.drop();
  });

  it('that may still change come in key order, and cool', async () => {
    const account = await newAccount();
    await account.page(
      'research_jobs',
      '[{"job_id":10,"status":"open"},{"job_id":9,"status":"failed"},{"job_id":8,"status":"done"},{"job_id":100,"status":"open"}]',
    );
    const scope = account.scope('research_jobs');
    const { db } = account.database;
    const keys = async (changed: number, failed: number) =>
      (await unfinishedRows(db, scope, new Date(changed), new Date(failed))).map((row) => row.key);
    const later = Date.now() + 3_600_000;
    expect(await keys(0, 0)).toEqual(['9', '10', '100']);
    expect(await keys(0, later)).toEqual(['10', '100']);
    expect(await keys(later, 0)).toEqual([]);
    await forgetFailed(db, scope, new Date(later));
    expect(await keys(0, 0)).toEqual(['10', '100']);
    expect(await liveCount(db, scope)).toBe(4);
  });
});

describe('scopes', () => {
  it('are made when opened, once', async () => {
    const account = await newAccount();
    const { db } = account.database;
    const scope = account.scope('watchlist');
    const [one, other] = await Promise.all([openScope(db, scope), openScope(db, scope)]);
    expect(one).toEqual(other);
    expect(one.memory).toEqual({});
    expect(one).toMatchObject({ scope, dueAt: undefined, lastObs: 0, failures: 0, liveRows: 0 });
    await expect(openScope(db, { ...scope, userId: '999999' })).rejects.toThrow('account 999999 has no row');
  });

  it('of lists are read due ones first, then those with unfinished rows, then the oldest; deleted lists never', async () => {
    const account = await newAccount();
    const { db, kysely } = account.database;
    const user = account.fence.userId;
    await account.page('lists', `[${[1, 2, 3, 4, 5, 6, 7].map((id) => `{"list_id":${id}}`).join()}]`);
    await account.page('list_items', '[{"id":"x","status":"open"}]', { parent: '5' });
    const set = (parent: number, due: string | null, read: string | null) =>
      sql`update mirror_sync.scope set due_at = ${due}, last_read_at = ${read}
        where _user_id = ${user} and collection = 'list_items' and parent = ${String(parent)}`.execute(
        kysely,
      );
    await set(1, null, '2026-01-05');
    await set(2, null, '2026-01-03');
    await set(3, '2026-01-08', '2026-01-07');
    await set(4, '2026-01-07', null);
    await set(5, null, '2026-01-06');
    await set(6, null, '2026-01-01');
    await set(7, null, '2026-02-01');
    await account.query(
      `update mirror_sync.scope set gone_at = now() where _user_id = ${user} and parent = '6'`,
    );
    const due = async (more: { limit?: number; except?: readonly string[]; fully?: boolean } = {}) =>
      (
        await dueScopes(db, {
          userId: user,
          collection: 'list_items',
          notReadSince: new Date('2026-01-31'),
          fully: false,
          except: [],
          limit: 10,
          ...more,
        })
      ).map((stored) => stored.scope.parent);
    expect(await due()).toEqual(['4', '3', '5', '2', '1']);
    expect(await due({ limit: 2 })).toEqual(['4', '3']);
    // List 7 was read since, but by a poll: a pass of full walks does not leave it out.
    expect(await due({ fully: true })).toContain('7');
    expect(await due({ except: ['4', '5'] })).toEqual(['3', '2', '1']);
    await set(1, '2026-01-01', '2026-01-01');
    expect(await due({ limit: 1 })).toEqual(['1']);
  });

  it('stay due when they came due after the walk began', async () => {
    const account = await newAccount();
    const { db } = account.database;
    const scope = account.scope('watchlist');
    await openScope(db, scope);
    const began = new Date('2026-01-02');
    const clear = () =>
      account.mirror.endWalk(account.fence, scope, { scope: { clearDueUntil: began, lastReadAt: began } }, 0);
    const dueAt = (moment: string): Promise<unknown[]> =>
      account.query(`update mirror_sync.scope set due_at = '${moment}' where _user_id = ${scope.userId}`);
    await dueAt('2026-01-03T00:00:00Z');
    await clear();
    expect(await openScope(db, scope)).toMatchObject({
      dueAt: new Date('2026-01-03'),
      lastReadAt: began,
    });
    await dueAt('2026-01-01T00:00:00Z');
    await clear();
    expect(await openScope(db, scope)).toMatchObject({ dueAt: undefined });
  });

  it('of a collection are polled as of the least of them', async () => {
    const account = await newAccount();
    const { db, kysely } = account.database;
    const user = account.fence.userId;
    await account.page('lists', '[{"list_id":1},{"list_id":2},{"list_id":3}]');
    const least = () => leastOfScopes(db, user, 'list_items', 'polled_at');
    const polled = (parent: string, at: string) =>
      sql`update mirror_sync.scope set polled_at = ${at} where _user_id = ${user} and parent = ${parent}`.execute(
        kysely,
      );
    await polled('1', '2026-01-02');
    await polled('2', '2026-01-01');
    expect(await least()).toEqual({ least: new Date('2026-01-01T00:00:00Z'), lacking: true });
    await account.query(
      `update mirror_sync.scope set gone_at = now() where _user_id = ${user} and parent = '3'`,
    );
    expect(await least()).toEqual({ least: new Date('2026-01-01T00:00:00Z'), lacking: false });
  });
});
