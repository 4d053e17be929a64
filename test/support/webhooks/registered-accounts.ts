import { afterEach } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { testDatabase } from '../databases/migrated-database.ts';
import { RegisteredAccount } from './registered-account.ts';

/**
 * Accounts with a registrar and a service of their own each, in one database. To be called once in a test file; an
 * account is closed after the test that made it.
 */
export function registeredAccounts() {
  const database = testDatabase();
  let users = 0;
  const open: RegisteredAccount[] = [];
  afterEach(async () => {
    for (const account of open.splice(0)) await account.close();
  });
  /** Its registrar does not run yet. */
  const make = async (switches: Partial<SandboxOptions> = {}): Promise<RegisteredAccount> => {
    users += 1;
    const account = await RegisteredAccount.make(database, { keys: `key-${users}=${users}`, ...switches });
    open.push(account);
    return account;
  };
  const registered = async (switches?: Partial<SandboxOptions>): Promise<RegisteredAccount> => {
    const account = await make(switches);
    account.start();
    await account.until('registered');
    return account;
  };
  return { database, make, registered };
}
