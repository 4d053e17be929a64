import * as fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { compareKeys } from '../../../../src/model/key.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import {
  liveCount,
  nthNewest,
  predecessor,
  predecessorQuery,
  sampleKeys,
  unfinishedRows,
} from '../../../../src/mirror/live-rows.ts';
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

  it.each(cases)('of %s come in the order of compareKeys, without deleted ones', async (name, type, key) => {
    const field = name === 'watchlist' ? 'id' : 'job_id';
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(key, { minLength: 1, maxLength: 15 }),
        fc.array(fc.nat(14), { maxLength: 4 }),
        key,
        fc.integer({ min: 1, max: 4 }),
        async (keys, gone, of, nth) => {
          const account = await newAccount();
          const items = keys.map((each) => `{"${field}":${type === 'text' ? `"${each}"` : each}}`);
          await account.page(name, `[${items.join()}]`);
          const deleted = new Set(gone.map((index) => keys[index] ?? ''));
          await sql`update ${sql.id('mirror', name)} set _deleted_at = now() where _user_id = ${account.fence.userId}
            and ${sql.id(field)}::text = any(${[...deleted]}::text[])`.execute(account.database.kysely);
          const live = keys.filter((each) => !deleted.has(each)).toSorted((a, b) => compareKeys(type, a, b));
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
  });

  it.each([
    ['research_jobs', 'job_id', '', 'research_jobs_pkey'],
    ['watchlist', 'id', '', 'watchlist_order'],
    ['list_items', 'list_id, id', '1', 'list_items_order'],
  ] as const)('of %s are found by an index, without a sort', async (table, keys, parent, index) => {
    const own = await createMigratedDatabase();
    await own.db.raw(`
      insert into mirror.${table} (_user_id, ${keys}, _first_seen_at, _changed_at, _change_id, _hash, _raw)
      select u, ${parent === '' ? 'n' : '1, n'}, now(), now(), n, '', '{}'
      from generate_series(1, 3) u, generate_series(1, 5000) n; analyze mirror.${table}`);
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

  it('come in key order while they may still change, and cool', async () => {
    const account = await newAccount();
    const items = { 10: 'open', 9: 'failed', 8: 'done', 100: 'open' };
    const page = Object.entries(items).map(([id, status]) => `{"job_id":${id},"status":"${status}"}`);
    await account.page('research_jobs', `[${page.join()}]`);
    const scope = account.scope('research_jobs');
    const { db } = account.database;
    const keys = async (changed: number) => (await unfinishedRows(db, scope, new Date(changed))).map((row) => row.key);
    const later = Date.now() + 3_600_000;
    expect(await keys(0)).toEqual(['9', '10', '100']);
    expect(await keys(later)).toEqual([]);
    expect(await liveCount(db, scope)).toBe(4);
  });
});

describe('a sample', () => {
  const numbers = Array.from({ length: 40 }, (_, index) => index + 1);

  it('has live rows, the same ones for a seed, whatever else changes', async () => {
    const account = await newAccount();
    const { db, kysely } = account.database;
    const { userId } = account.fence;
    const chosen = async (rows: number, seed: number): Promise<string[]> =>
      (await sampleKeys(db, userId, 'research_jobs', { rows, seed })).get('')?.toSorted() ?? [];
    expect(await chosen(5, 1)).toEqual([]);
    await account.page('research_jobs', `[${numbers.map((key) => `{"job_id":${key}}`).join()}]`);
    const first = await chosen(5, 1);
    expect(first).toHaveLength(5);
    expect(await chosen(5, 1)).toEqual(first);
    const seeds = await Promise.all(numbers.map((seed) => chosen(1, seed)));
    expect(new Set(seeds.flat()).size).toBeGreaterThan(10);
    expect(await chosen(100, 1)).toEqual(numbers.map(String).toSorted());
    await sql`update mirror.research_jobs set _deleted_at = now()
      where _user_id = ${userId} and not job_id::text = any(${first}::text[])`.execute(kysely);
    expect(await chosen(100, 2)).toEqual(first);
  });

  it('is grouped by list', async () => {
    const account = await newAccount();
    for (const parent of ['7', '8']) await account.page('list_items', '[{"id":"a"},{"id":"b"}]', { parent });
    const { database, fence } = account;
    const all = await sampleKeys(database.db, fence.userId, 'list_items', { rows: 10, seed: 3 });
    const sorted = [...all].map(([list, keys]) => `${list} ${keys.toSorted().join()}`).toSorted();
    expect(sorted).toEqual(['7 a,b', '8 a,b']);
    const one = await sampleKeys(database.db, fence.userId, 'list_items', { rows: 1, seed: 3 });
    expect([...one.values()].flat()).toHaveLength(1);
  });
});
