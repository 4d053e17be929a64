import { afterAll, afterEach, beforeAll } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { createMigratedDatabase, type MigratedDatabase } from '../databases/migrated-database.ts';
import { RegisteredAccount } from './registered-account.ts';

/**
 * Accounts with a registrar and a service of their own each, in one database. To be called once in a test file; an
 * account is closed after the test that made it.
 */
export function registeredAccounts() {
  let database: MigratedDatabase | undefined;
  let users = 0;
  const open: RegisteredAccount[] = [];
  beforeAll(async () => {
    database = await createMigratedDatabase();
  });
  afterEach(async () => {
    for (const account of open.splice(0)) await account.close();
  });
  afterAll(() => database?.drop());
  const running = (): MigratedDatabase => {
    if (database === undefined) throw new RangeError('no test runs');
    return database;
  };
  /** Its registrar does not run yet. */
  const make = async (switches: Partial<SandboxOptions> = {}): Promise<RegisteredAccount> => {
    users += 1;
    const account = await RegisteredAccount.make(running(), { keys: `key-${users}=${users}`, ...switches });
    open.push(account);
    return account;
  };
  const registered = async (switches?: Partial<SandboxOptions>): Promise<RegisteredAccount> => {
    const account = await make(switches);
    account.start();
    await account.until('registered');
    return account;
  };
  return {
    get database() {
      return running();
    },
    make,
    registered,
  };
}
