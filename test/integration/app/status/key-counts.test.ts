import { afterAll, beforeAll, expect, it } from 'vitest';
import { countKeys } from '../../../../src/app/status/key-counts.ts';
import { rememberKey, rememberMoved } from '../../../../src/db/accounts/api-keys.ts';
import {
  createMigratedDatabase,
  type MigratedDatabase,
} from '../../../support/databases/migrated-database.ts';

let database: MigratedDatabase;
beforeAll(async () => {
  database = await createMigratedDatabase();
});
afterAll(() => database.drop());

it('counts each configured key in one state, by what is stored and by what this process knows', async () => {
  const pingedAt = new Date();
  const good = { userId: '1', pingedAt, error: undefined };
  for (const keyHash of ['good', 'withdrawn', 'moved', 'not configured']) {
    await rememberKey(database.db, { keyHash, ...good });
  }
  await rememberMoved(database.db, { keyHash: 'moved', userId: '1', answeredFor: '2', at: pingedAt });
  await rememberKey(database.db, { keyHash: 'wrong', userId: undefined, pingedAt, error: '401' });
  const configured = ['good', 'withdrawn', 'moved', 'wrong', 'new'];
  expect(await countKeys(database.db, configured, new Set(['withdrawn']))).toEqual({
    good: 1,
    refused: 2,
    moved: 1,
    unasked: 1,
  });
  expect(await countKeys(database.db, [], new Set())).toEqual({ good: 0, refused: 0, moved: 0, unasked: 0 });
});
