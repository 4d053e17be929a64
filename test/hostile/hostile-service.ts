import { createTransport } from '../../src/service/transport.ts';
import type { Account } from '../../src/account/account.ts';
import { loadConfig } from '../../src/config/load.ts';
import { ensureAccount } from '../../src/postgres/lease.ts';
import { COLLECTION_NAMES, type CollectionName } from '../../src/model/collections.ts';
import { KeyRefused } from '../../src/model/errors.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import type { MigratedDatabase } from '../support/databases/migrated-database.ts';
import { startTestSandbox, STILL } from '@research-mirror/sandbox/testing/sandbox';
import { quietParts, takeAndOpen } from '../support/sync/quiet-parts.ts';

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

/** The greatest user of any service so far: all of a test file's may be in one database. */
let users = 0;

export type HostileService = Awaited<ReturnType<typeof startHostileService>>;
export type HostileAccount = Awaited<ReturnType<HostileService['account']>>;

/** An emulated service whose variants are read into one new account each. */
export async function startHostileService(database: MigratedDatabase, switches: Partial<SandboxOptions> = {}) {
  let user = users;
  users += USERS_A_SERVICE;
  const keys = Array.from({ length: USERS_A_SERVICE }, (_, n) => `key-${user + n + 1}=${user + n + 1}`).join();
  const sandbox = await startTestSandbox({ ...QUIET, ...switches, keys });
  // Jobs under way would go on.
  await sandbox.control.clock({ freeze: true });
  const transport = createTransport({ baseUrl: sandbox.url, clock: systemClock, userAgent: 'tests' });
  return {
    sandbox,
    database,
    /** Of a user of the service that was not read so far. */
    async account() {
      const userId = (user += 1);
      const env = {
        DATABASE_URL: database.url,
        MIRROR_API_URL: sandbox.url,
        MIRROR_API_KEY: `key-${userId}`,
        // More than the replicas of these tests lag.
        MIRROR_SETTLE: '1s',
      };
      await ensureAccount(database.db, String(userId), new Date());
      const parts = await quietParts(loadConfig(env, 'service'), database.db, transport);
      const opened = await takeAndOpen(parts, String(userId));
      return {
        userId,
        reader: opened.reader,
        close: () => opened.close(),
        /** Reads all collections until each was read well, whatever happens on the way. @returns rows written */
        async readAll(what: 'full' | 'current' = 'full') {
          const sum = { written: 0, quarantined: 0 };
          for (const name of COLLECTION_NAMES) {
            const { inserted, updated, quarantined } = await readWell(opened, name, what);
            sum.written += inserted + updated;
            sum.quarantined += quarantined;
          }
          return sum;
        },
      };
    },
    close: async () => {
      await Promise.all([transport.close(), sandbox.stop()]);
    },
  };
}

async function readWell(account: Account, name: CollectionName, what: 'full' | 'current') {
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
