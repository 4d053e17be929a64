import { sql } from 'kysely';
import { createTransport, type HttpAnswer, type Transport } from '../../../src/service/transport.ts';
import type { Account } from '../../../src/account/account.ts';
import type { ProcessContext } from '../../../src/account/process.ts';
import type { ServiceConfig } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { ensureAccount } from '../../../src/postgres/lease.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import type { ReadRequest } from '../../../src/sync/read-root.ts';
import type { ReadOutcome } from '../../../src/sync/walk-result.ts';
import type { SuspectsWait, WalkEnded } from '../../../src/model/sync-events.ts';
import type { SyncObserver } from '../../../src/sync/reading-context.ts';
import { createMigratedDatabase, type MigratedDatabase } from '../databases/migrated-database.ts';
import { startTestSandbox, STILL, type TestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { quietParts, takeAndOpen } from './quiet-parts.ts';

/**
 * One account as the daemon composes it, in the test's own process: real Postgres, and real HTTP to the emulated
 * service. The test hears of each request before it goes out, and may hold it back.
 */
export interface TestAccount {
  readonly sandbox: TestSandbox;
  readonly database: MigratedDatabase;
  readonly config: ServiceConfig;
  readonly parts: ProcessContext;
  /** Paths with their queries, in the order in which they were sent. */
  readonly asked: string[];
  readonly walks: WalkEnded[];
  /** Waits for the grace period. */
  readonly waits: SuspectsWait[];
  /** Observers that are added hear of all that follows. */
  readonly observers: SyncObserver[];
  /** The most requests that were under way at once; whose key it is may be asked for beside them. */
  mostAtOnce: number;
  /** Called before each request goes out. */
  onRequest: (path: string) => Promise<void> | void;
  /** What the program is given in place of the service's answer. */
  onAnswer: (path: string, answer: HttpAnswer) => HttpAnswer;
  /** What is open now: `reopen` replaces it. */
  current: Account;
  read(name: CollectionName, what: ReadRequest['what'], signal?: AbortSignal): Promise<ReadOutcome>;
  /** As a new process goes on: nothing is left but what was committed. */
  reopen(): Promise<void>;
  query<T>(text: string): Promise<T[]>;
  close(): Promise<void>;
}

/** Small, standing still, without rate limits, in pages of 50. */
const QUIET: Partial<SandboxOptions> = {
  ...STILL,
  limits: 'off',
  jobs: 300,
  bulkJobs: 10,
  lists: 3,
  itemsPerList: 10,
  watchlist: 30,
  maxLimit: 50,
  badLimit: 'clamped',
};

/** @param env variables of the program, for example MIRROR_SETTLE */
export async function createTestAccount(
  switches: Partial<SandboxOptions> = {},
  clock: Clock = systemClock,
  env: Readonly<Record<string, string>> = {},
): Promise<TestAccount> {
  const [sandbox, database] = await Promise.all([
    startTestSandbox({ ...QUIET, ...switches }),
    createMigratedDatabase(),
  ]);
  const { db } = database;
  const userId = String(sandbox.userId);
  const config = loadConfig(
    { DATABASE_URL: database.url, MIRROR_API_URL: sandbox.url, MIRROR_API_KEY: sandbox.key, ...env },
    'service',
  );
  const wire = createTransport({ baseUrl: sandbox.url, clock: systemClock, userAgent: 'tests' });
  const asked: string[] = [];
  const walks: WalkEnded[] = [];
  const waits: SuspectsWait[] = [];
  const observers: SyncObserver[] = [
    { walkEnded: (walk) => walks.push(walk), suspectsWait: (wait) => waits.push(wait) },
  ];
  let underWay = 0;
  const transport: Transport = {
    ...wire,
    get: async (path, key, signal, wanted) => {
      await test.onRequest(path);
      asked.push(path);
      const counts = path === '/v1/ping' ? 0 : 1;
      underWay += counts;
      test.mostAtOnce = Math.max(test.mostAtOnce, underWay);
      const answer = await wire.get(path, key, signal, wanted).finally(() => {
        underWay -= counts;
      });
      return test.onAnswer(path, answer);
    },
  };
  const parts: ProcessContext = { ...(await quietParts(config, db, transport, clock)), observers };
  await ensureAccount(db, userId, new Date());
  const test: TestAccount = {
    sandbox,
    database,
    config,
    parts,
    asked,
    walks,
    waits,
    observers,
    mostAtOnce: 0,
    onRequest: () => {},
    onAnswer: (_, answer) => answer,
    current: await takeAndOpen(parts, userId),
    read: (name, what, signal = new AbortController().signal) => test.current.reader.read(name, { what, signal }),
    reopen: async () => {
      await test.current.close();
      test.current = await takeAndOpen(parts, userId);
    },
    query: async <T>(text: string) => (await sql<T>`${sql.raw(text)}`.execute(db)).rows,
    close: async () => {
      await test.current.close();
      await Promise.all([wire.close(), sandbox.stop()]);
      await database.drop();
    },
  };
  return test;
}

/** The same, whose data stand still: no job that is under way goes on. */
export async function createFrozenAccount(...made: Parameters<typeof createTestAccount>): Promise<TestAccount> {
  const account = await createTestAccount(...made);
  await account.sandbox.control.clock({ freeze: true });
  return account;
}
