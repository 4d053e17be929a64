import { beforeAll } from 'vitest';
import { openHistory } from '../../../src/mirror/history.ts';
import { testDatabase } from '../databases/migrated-database.ts';
import { MirroredAccount } from './mirrored-account.ts';

/**
 * Two accounts in one database: what is done to one must not touch the other. To be called once in a test file: they are
 * there, not opened, from its first test to its last.
 */
export function accountsWithHistory() {
  const database = testDatabase();
  const accounts = {} as { readonly first: MirroredAccount; readonly second: MirroredAccount };
  beforeAll(async () => {
    const first = await MirroredAccount.make(database, '1');
    const second = await MirroredAccount.make(database, '2');
    Object.assign(accounts, { first, second });
  });
  return Object.assign(accounts, {
    database,
    /** Notes since when an account's jobs and lists are covered, as the daemon does when it starts. */
    open: (account: MirroredAccount, kept = true): Promise<void> =>
      openHistory(database.db, account.fence, ['research_jobs', 'lists'], kept),
  });
}
