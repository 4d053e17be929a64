import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { rowsToDelete, rowsToDeleteAfter } from '../../../../src/mirror/deletion/delete-rows.ts';
import { itemsWith } from '../../../support/mirror/deleting.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

it('only live rows of the scope are deleted, in key order, or those behind a key', async () => {
  const account = await newAccount();
  const { db } = account.database;
  await account.observe('lists', itemsWith('list_id', [1, 2]));
  for (const parent of ['1', '2']) {
    await account.observe('list_items', itemsWith('id', ['c', 'a', 'b', 'd']), { parent });
  }
  await sql`
    update mirror.list_items set _deleted_at = now()
    where _user_id = ${account.fence.userId} and list_id = 1 and id = 'b'`.execute(db);
  const first = account.scope('list_items', '1');
  const keys = (rows: readonly { readonly key: string }[]): string => rows.map(({ key }) => key).join('');

  // A row that is deleted already, or never was there, would make the whole deletion fail.
  expect(keys(await rowsToDelete(db, first, ['d', 'b', 'x', 'a']))).toBe('ad');
  expect(keys(await rowsToDeleteAfter(db, first))).toBe('acd');
  expect(keys(await rowsToDeleteAfter(db, first, 'a'))).toBe('cd');
  expect(keys(await rowsToDeleteAfter(db, first, 'd'))).toBe('');
  expect(keys(await rowsToDeleteAfter(db, account.scope('list_items', '2')))).toBe('abcd');
});
