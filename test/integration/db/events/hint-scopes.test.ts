import { expect, it } from 'vitest';
import { addHints, dueHints, nextHint, updateHints } from '../../../../src/db/events/hint-store.ts';
import type { CollectionName, Scope } from '../../../../src/model/collections.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

it('hints of one scope are read and removed by themselves: those of other lists, collections and accounts stay', async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { db } = account.database;
  const scopes: readonly Scope[] = [
    account.scope('list_items', '7'),
    account.scope('list_items', '8'),
    account.scope('lists'),
    other.scope('list_items', '7'),
  ];
  const now = new Date(Date.UTC(2026, 0, 1));
  // The same keys everywhere.
  for (const { userId, collection, parent } of scopes) {
    const rows = ['1', '2', '3'].map((key) => ({ collection, parent, key }));
    await addHints(db, userId, rows, now);
  }
  const due = (): Promise<string[]> =>
    Promise.all(scopes.map(async (scope) => (await dueHints(db, scope, 10)).map(({ key }) => key).join()));
  expect(await due()).toEqual(['1,2,3', '1,2,3', '1,2,3', '1,2,3']);

  const [first] = scopes;
  if (first === undefined) throw new Error('there are four');
  const [one, two] = await dueHints(db, first, 10);
  if (one === undefined || two === undefined) throw new Error('three were added');
  // As late as a hint's next reading may be at all (moment-ahead.ts), by the database's clock: less the test's own
  // time.
  const { rows } = await db.sql<{ at: Date }>`select clock_timestamp() + interval '9 minutes' as at`;
  const [{ at: later } = { at: now }] = rows;
  await db.transaction((trx) =>
    updateHints(trx, first, { done: [one], again: [{ hint: two, dueAt: later }] }),
  );
  expect(await due()).toEqual(['3', '1,2,3', '1,2,3', '1,2,3']);

  const next = async (userId: string, among: readonly CollectionName[]): Promise<Scope | undefined> =>
    (await nextHint(db, userId, among, []))?.scope;
  expect(await next(other.fence.userId, ['lists', 'list_items'])).toEqual(other.scope('list_items', '7'));
  expect(await next(other.fence.userId, ['lists'])).toBeUndefined();
});
