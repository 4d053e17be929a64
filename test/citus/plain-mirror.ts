import { migrateTo } from '../support/databases/migrated-database.ts';
import { createTestDatabases, type TestDatabase } from '../support/postgres/postgres.ts';

/**
 * A mirror on the coordinator that is not distributed yet, with a database of its name on each worker.
 * @param migrated brings the database to a version; the present one where nothing is said
 */
export async function createPlainMirror(
  migrated: (url: string) => Promise<unknown> = (url) => migrateTo(url, 'mirror'),
): Promise<TestDatabase> {
  const database = await createTestDatabases();
  await migrated(database.url);
  return database;
}
