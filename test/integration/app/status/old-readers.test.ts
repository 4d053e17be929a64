import { eventually } from '@research-mirror/runtime/testing/eventually';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { oldTransactions } from '../../../../src/app/status/workload.ts';
import {
  createMigratedDatabase,
  type MigratedDatabase,
} from '../../../support/databases/migrated-database.ts';
import { createLoginRole, type LoginRole } from '../../../support/postgres/login-role.ts';

let database: MigratedDatabase;
let reader: LoginRole;

beforeAll(async () => {
  database = await createMigratedDatabase();
  reader = await createLoginRole(database, ['mirror_reader']);
});
afterAll(async () => {
  await reader.drop();
  await database.drop();
});

it('finds a transaction that is open for long, and the statement that ends it', async () => {
  expect(await oldTransactions(database.db, 0)).toEqual([]);
  const open = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const reading = reader.db.snapshot(async (trx) => {
    await trx.sql`select count(*) from mirror.lists`;
    begun.resolve();
    await open.promise;
    await trx.sql`select 1`;
  });
  await begun.promise;
  const found = await oldTransactions(database.db, 0);
  expect(await oldTransactions(database.db, 3_600_000)).toEqual([]);

  const said =
    /^a transaction of (test_\w+) \(research-mirror tests\) is open for \d+ s: vacuum removes .*: (select .*)$/;
  expect(found).toEqual([expect.stringMatching(said)]);
  const [, user, end = ''] = said.exec(found[0] ?? '') ?? [];
  expect(user).toBe(reader.name);
  await database.db.raw(end);
  open.resolve();
  await expect(reading).rejects.toThrow(/the database/);
  // The server ends a session a moment after its client has heard of it.
  await eventually('none to be found', async () => (await oldTransactions(database.db, 0)).length === 0);
});
