import { expect, it } from 'vitest';
import { itemsWith, SNAPSHOT } from '../../../support/mirror/deleting.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

it('what is proven of an item in one list proves nothing of an item with the same ID in another', async () => {
  const account = await newAccount();
  await account.observe('lists', itemsWith('list_id', [1, 2]));
  const seen = async (parent: string, ...ids: readonly string[]): Promise<void> => {
    await account.age(account.gracePeriodMs);
    await account.observe('list_items', itemsWith('id', ids), { parent, proof: SNAPSHOT });
  };
  const suspectChange = async (parent: string): Promise<unknown[]> =>
    (await account.suspects('list_items', parent))
      .map(({ key, proven }) => `${key}${proven ? '!' : ''}`)
      .toSorted();
  for (const parent of ['1', '2']) await seen(parent, 'a', 'b', 'c');

  await seen('1', 'b', 'c');
  await seen('2', 'a', 'b');
  expect([await suspectChange('1'), await suspectChange('2')]).toEqual([['a'], ['c']]);
  // The second proof of c in this list, and the first of a.
  await seen('2', 'b');
  expect([await suspectChange('1'), await suspectChange('2')]).toEqual([['a'], ['a', 'c!']]);
  expect(await account.applyDeletions('list_items', { parent: '2' })).toMatchObject({ deleted: 1 });

  // A sighting withdraws the suspicion in that list alone.
  await seen('2', 'a', 'b');
  expect([await suspectChange('1'), await suspectChange('2')]).toEqual([['a'], []]);
  expect(
    await account.query(
      `select list_id || id as item from mirror.list_items
       where _user_id = ${account.fence.userId} and _deleted_at is null order by 1`,
    ),
  ).toEqual(['1a', '1b', '1c', '2a', '2b'].map((item) => ({ item })));
});
