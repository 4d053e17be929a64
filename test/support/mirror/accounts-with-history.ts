import { afterAll, beforeAll } from 'vitest';
import { openHistory } from '../../../src/mirror/history/coverage.ts';
import { createMigratedDatabase, type MigratedDatabase } from '../databases/migrated-database.ts';
import { MirroredAccount } from './mirrored-account.ts';

/** Two accounts in one database: what is done to one must not touch the other. */
export interface AccountsWithHistory {
  readonly database: MigratedDatabase;
  readonly first: MirroredAccount;
  readonly second: MirroredAccount;
  /** Notes since when an account's jobs and lists are covered, as the daemon does when it starts. */
  readonly open: (account: MirroredAccount, kept?: boolean) => Promise<void>;
}

/** To be called once in a test file: the accounts are there, not opened, from its first test to its last. */
export function accountsWithHistory(): AccountsWithHistory {
  let made: Pick<AccountsWithHistory, 'database' | 'first' | 'second'> | undefined;
  const now = (): NonNullable<typeof made> => {
    if (made === undefined) throw new RangeError('no test runs');
    return made;
  };
  beforeAll(async () => {
    const database = await createMigratedDatabase();
    const first = await MirroredAccount.make(database, '1');
    const second = await MirroredAccount.make(database, '2');
    made = { database, first, second };
  });
  afterAll(() => made?.database.drop());
  return {
    get database() {
      return now().database;
    },
    get first() {
      return now().first;
    },
    get second() {
      return now().second;
    },
    open: (account, kept = true) =>
      openHistory(now().database.db, account.fence, ['research_jobs', 'lists'], kept),
  };
}
