import { afterAll, afterEach, beforeAll } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { createMigratedDatabase, type MigratedDatabase } from '../databases/migrated-database.ts';
import { RegisteredAccount } from './registered-account.ts';

/** Accounts with a registrar and a service of their own each, in one database. */
export interface RegisteredAccounts {
  readonly database: MigratedDatabase;
  /** Its registrar does not run yet. */
  readonly make: (switches?: Partial<SandboxOptions>) => Promise<RegisteredAccount>;
  readonly registered: (switches?: Partial<SandboxOptions>) => Promise<RegisteredAccount>;
}

/** To be called once in a test file; an account is closed after the test that made it. */
export function registeredAccounts(): RegisteredAccounts {
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
  const scene: RegisteredAccounts = {
    get database() {
      if (database === undefined) throw new RangeError('no test runs');
      return database;
    },
    make: async (switches = {}) => {
      users += 1;
      const own = { keys: `key-${users}=${users}`, ...switches };
      const account = await RegisteredAccount.make(scene.database, own);
      open.push(account);
      return account;
    },
    registered: async (switches) => {
      const account = await scene.make(switches);
      account.start();
      await account.until('registered');
      return account;
    },
  };
  return scene;
}
