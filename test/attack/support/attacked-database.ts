import { inject } from 'vitest';
import { makeCluster } from '../../support/databases/distributed-database.ts';
import { createTestDatabases, type TestDatabase } from '../../support/postgres/postgres.ts';

/** An empty database for a short form; where the run's tests live on Citus, of a cluster. */
export async function createAttackedDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabases();
  const { workers } = inject('testServer');
  if (workers.length > 0) await makeCluster(database.url, workers);
  return database;
}
