import { createTransport } from '../../src/api/transport.ts';
import { OwnedAccounts } from '../../src/db/ownership/owned-accounts.ts';
import type { AccountContext } from '../../src/app/accounts/open-account.ts';
import { openAccount, type OpenAccount } from '../../src/app/accounts/open-account.ts';
import { createSchedule } from '../../src/app/accounts/next-runs.ts';
import { loadConfig } from '../../src/config/load.ts';
import { ensureAccount, takeAccount } from '../../src/db/ownership/lease.ts';
import { ownIdentity } from '../../src/db/ownership/process-identity.ts';
import { COLLECTION_NAMES, type CollectionName } from '../../src/model/collections.ts';
import { KeyRefused } from '../../src/model/errors.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import {
  createMigratedDatabase,
  type MigratedDatabase,
  testDatabase,
} from '../support/databases/migrated-database.ts';
import { startTestSandbox, STILL, type TestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { ALONE, quietLink, SILENT_LOG } from '../support/sync/quiet-parts.ts';

const USERS_A_SERVICE = 60;
/** Times that a collection is read before it is called unreadable: faults come at random. */
const MOST_PASSES = 12;

/** Small, standing still, without rate limits, in pages of 7. */
const QUIET: Partial<SandboxOptions> = {
  ...STILL,
  limits: 'off',
  jobs: 17,
  bulkJobs: 3,
  lists: 2,
  itemsPerList: 9,
  watchlist: 8,
  maxLimit: 7,
  badLimit: 'clamped',
};

/** One database for all services of a test file: their users differ. */
export interface HostileMirror extends MigratedDatabase {
  /** The greatest user of any service so far. */
  users: number;
}

export async function createHostileMirror(): Promise<HostileMirror> {
  return { ...(await createMigratedDatabase()), users: 0 };
}

/** One for a file's tests, there while they run. */
export function hostileMirror(): HostileMirror {
  const database = testDatabase();
  return Object.assign(database, { users: 0 });
}

/** An emulated service whose variants are read into one new account each. */
export interface HostileService {
  readonly sandbox: TestSandbox;
  readonly database: HostileMirror;
  /** A user of the service that nobody has read so far. */
  account(): Promise<HostileAccount>;
  close(): Promise<void>;
}

export interface HostileAccount extends OpenAccount {
  readonly userId: number;
  /** Reads all collections until each was read well, whatever happens on the way. @returns rows written, requests */
  readAll(what?: 'full' | 'current'): Promise<{ written: number; requests: number; quarantined: number }>;
}

export async function startHostileService(
  database: HostileMirror,
  switches: Partial<SandboxOptions> = {},
): Promise<HostileService> {
  let user = database.users;
  database.users += USERS_A_SERVICE;
  const keys = Array.from(
    { length: USERS_A_SERVICE },
    (_, n) => `key-${user + n + 1}=${user + n + 1}`,
  ).join();
  const sandbox = await startTestSandbox({ ...QUIET, ...switches, keys });
  // Jobs under way would go on.
  await sandbox.control.clock({ freeze: true });
  const transport = createTransport({ baseUrl: sandbox.url, clock: systemClock, userAgent: 'tests' });
  const identity = await ownIdentity();
  const { db } = database;
  return {
    sandbox,
    database,
    async account() {
      user += 1;
      const userId = user;
      const env = {
        DATABASE_URL: database.url,
        MIRROR_API_URL: sandbox.url,
        MIRROR_API_KEY: `key-${userId}`,
        // More than the replicas of these tests lag.
        MIRROR_SETTLE: '1s',
      };
      const config = loadConfig(env, 'service');
      const parts: AccountContext = {
        config,
        db,
        urgentDb: db,
        log: SILENT_LOG,
        observers: [],
        owned: new OwnedAccounts(),
        ...ALONE,
        schedule: createSchedule(config),
        clock: systemClock,
        link: quietLink(transport),
      };
      await ensureAccount(db, String(userId), new Date());
      const taken = await takeAccount(db, String(userId), 'tests', identity);
      if (taken.state !== 'taken') throw new Error('the account is not free');
      const opened = await openAccount(parts, taken.fence, config.service.keys);
      return { ...opened, userId, readAll: (what = 'full') => readAll(opened, what) };
    },
    close: async () => {
      await Promise.all([transport.close(), sandbox.stop()]);
    },
  };
}

async function readAll(
  account: OpenAccount,
  what: 'full' | 'current',
): Promise<{ written: number; requests: number; quarantined: number }> {
  const sum = { written: 0, requests: 0, quarantined: 0 };
  for (const name of COLLECTION_NAMES) {
    const { inserted, updated, requests, quarantined } = await readWell(account, name, what);
    sum.written += inserted + updated;
    sum.requests += requests;
    sum.quarantined += quarantined;
  }
  return sum;
}

async function readWell(account: OpenAccount, name: CollectionName, what: 'full' | 'current') {
  const signal = new AbortController().signal;
  let problem: unknown;
  for (let pass = 1; pass <= MOST_PASSES; pass += 1) {
    try {
      const { error, totals } = await account.reader.read(name, { what, signal });
      if (error === undefined) return totals;
      problem = error;
    } catch (error) {
      // A refused key stops the account; a ping that succeeds lets it go on.
      if (!(error instanceof KeyRefused)) throw error;
      problem = error;
      await account.source.ping({ signal }).catch(() => {});
    }
  }
  throw new Error(`${name} could not be read in ${MOST_PASSES} passes`, { cause: problem });
}
