import { expect, it } from 'vitest';
import { rememberKey } from '../../../src/postgres/accounts.ts';
import { databaseTime } from '../../../src/postgres/db.ts';
import { ensureAccount } from '../../../src/postgres/lease.ts';
import { LeaseLost } from '../../../src/model/errors.ts';
import { createOwnershipStore } from '../../../src/sync/account-store.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';

const database = testDatabase();

it('a process that lost its account stores neither a proof of its key nor that the key answered for another account', async () => {
  const { db } = database;
  await ensureAccount(db, '42', await databaseTime(db));
  await rememberKey(db, 'key', { userId: '42' });
  await db.sql`update ${db.stateTable('account')} set owner = gen_random_uuid(), token = 2`;
  const stored = async () =>
    (await db.sql`select * from ${db.stateTable('api_key')}, ${db.stateTable('account')}`).rows;
  const before = await stored();
  const { rows } = await db.sql<{ owner: string }>`select owner from ${db.stateTable('account')}`;
  const fence = { userId: '42', owner: rows[0]?.owner ?? '', token: '1' };
  const store = createOwnershipStore(db, fence, 'https://service.example');
  await expect(store.proven('key', () => 0)).rejects.toThrow(LeaseLost);
  await expect(store.contradicted('key', '43')).rejects.toThrow(LeaseLost);
  expect(await stored()).toEqual(before);
});
