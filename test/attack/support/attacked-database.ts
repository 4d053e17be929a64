import { afterAll, beforeAll, inject } from 'vitest';
import { makeCluster } from '../../support/databases/distributed-database.ts';
import { createTestDatabases, type TestDatabase } from '../../support/postgres/postgres.ts';
import { describeFindings, Tally } from './attack.ts';
import { openTables, type Tables } from '../walks/game/tables.ts';

/**
 * For a file's short forms, gone after its last test.
 * @returns gives the URL of an empty database; where the run's tests live on Citus, of a cluster
 */
export function attackedDatabases(): () => Promise<string> {
  const made: TestDatabase[] = [];
  afterAll(() => Promise.all(made.map((each) => each.drop())));
  return async () => {
    const database = await createTestDatabases();
    made.push(database);
    const { workers } = inject('testServer');
    if (workers.length > 0) await makeCluster(database.url, workers);
    return database.url;
  };
}

/** Tables to play on, for a file's tests. */
export function attackedTables(): Tables {
  const database = attackedDatabases();
  const tables = {} as Tables;
  beforeAll(async () => {
    Object.assign(tables, await openTables(database));
  });
  afterAll(() => tables.close());
  return tables;
}

/** Sums games up whose findings a test expects to be none. @param broken has them, and how to play each game again */
export function tallyOf(attack: string, broken: string[]): Tally {
  return new Tally({
    onGame: (result) => {
      if (result.findings.length > 0) broken.push(describeFindings(attack, result));
    },
  });
}
