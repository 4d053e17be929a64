import { beforeAll } from 'vitest';
import { openHistory } from '../../../src/mirror/history.ts';
import { type MigratedDatabase, testDatabase } from '../databases/migrated-database.ts';
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
  const database = testDatabase();
  const accounts = {
    database,
    open: (account, kept = true) => openHistory(database.db, account.fence, ['research_jobs', 'lists'], kept),
  } as AccountsWithHistory;
  beforeAll(async () => {
    const first = await MirroredAccount.make(database, '1');
    const second = await MirroredAccount.make(database, '2');
    Object.assign(accounts, { first, second });
  });
  return accounts;
}
