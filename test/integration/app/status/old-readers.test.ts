import { eventually } from '@research-mirror/runtime/testing/eventually';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTransaction } from '../../../../src/app/status/problems.ts';
import { oldReaders } from '../../../../src/app/status/workload.ts';
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
  expect(await oldReaders(database.db, 0)).toEqual([]);
  const open = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const reading = reader.db.snapshot(async (trx) => {
    await trx.sql`select count(*) from mirror.lists`;
    begun.resolve();
    await open.promise;
    await trx.sql`select 1`;
  });
  await begun.promise;
  const found = await oldReaders(database.db, 0);
  expect(found).toMatchObject([{ user: reader.name, program: 'research-mirror tests' }]);
  expect(found[0]?.ageMs).toBeGreaterThan(0);
  expect(await oldReaders(database.db, 3_600_000)).toEqual([]);

  expect(found.map(openTransaction)).toEqual([
    expect.stringMatching(
      /^a transaction of test_\w+ \(research-mirror tests\) is open for \d+ s: vacuum removes /,
    ),
  ]);
  expect(found.map(openTransaction).join()).toContain(`select pg_terminate_backend(${found[0]?.pid})`);
  await database.db.raw(`select pg_terminate_backend(${found[0]?.pid})`);
  open.resolve();
  await expect(reading).rejects.toThrow(/the database/);
  // The server ends a session a moment after its client has heard of it.
  await eventually('none to be found', async () => (await oldReaders(database.db, 0)).length === 0);
});
