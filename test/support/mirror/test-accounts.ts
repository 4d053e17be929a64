import type { MirrorOptions } from '../../../src/mirror/mirror.ts';
import { testDatabase } from '../databases/migrated-database.ts';
import { MirroredAccount } from './mirrored-account.ts';

/**
 * A migrated database for a file's tests, there while they run.
 * @param usual options that accounts have where the test doesn't say otherwise
 * @returns a function that makes another account in it at each call
 */
export function testAccounts(
  usual: Partial<MirrorOptions> = {},
): (options?: Partial<MirrorOptions>) => Promise<MirroredAccount> {
  const database = testDatabase();
  let users = 0;
  return (options = {}) => {
    users += 1;
    return MirroredAccount.make(database, String(users), { ...usual, ...options });
  };
}
