import { vi } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import type { SyncReport } from '../../../src/account/pass.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createMigratedTestDatabase } from '../databases/migrated-database.ts';
import { openPool } from '../postgres/on-connection.ts';
import type { TestDatabase } from '../postgres/postgres.ts';
import { accountEnv, type Outcome, Programs, type Running } from './program.ts';
import { spawnTestSandbox } from './spawn-sandbox.ts';
import { STILL } from '@research-mirror/sandbox/testing/sandbox';

// A test here starts up to a dozen processes: that takes a second on an idle machine, many on a busy one. What waits
// for a condition gives up by itself, and says for what it waited (eventually.ts).
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

export type System = Awaited<ReturnType<typeof createSystem>>;

export interface Daemon extends Running {
  readonly statusUrl: string;
  /** @returns how it ended after the signal (SIGTERM) */
  stop(signal?: NodeJS.Signals): Promise<Outcome>;
}

/** Variables of the program; undefined takes one away. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A small account whose data stand still, and no rate limits, unless the test says otherwise. */
const QUIET: Partial<SandboxOptions> = {
  ...STILL,
  limits: 'off',
  jobs: 300,
  bulkJobs: 10,
  lists: 5,
  itemsPerList: 20,
  watchlist: 30,
};

/**
 * Real processes: the emulated service, a database, and the program as often as a test starts it.
 * @param given instead of a database on the run's server
 */
export async function createSystem(switches: Partial<SandboxOptions> = {}, given?: TestDatabase) {
  const programs = new Programs();
  const [database, sandbox] = await Promise.all([
    given ?? createMigratedTestDatabase(),
    spawnTestSandbox({ ...QUIET, ...switches }),
  ]);
  const db = openPool(database.url, 3);
  const begin = (args: readonly string[], env: Environment = {}): Running =>
    programs.start(args, present({ ...accountEnv(database.url, sandbox), ...env }));
  return {
    sandbox,
    databaseUrl: database.url,
    db,
    /** Where the program runs: its `.env` and its data would be here. */
    cwd: programs.cwd,
    begin,
    run: (args: readonly string[], env?: Environment): Promise<Outcome> => begin(args, env).ended,
    /** `sync … --json`, which must end with `code`. */
    async sync(
      args: readonly string[] = [],
      { env, code = 0 }: { readonly env?: Environment; readonly code?: number } = {},
    ): Promise<SyncReport> {
      const outcome = await begin(['sync', '--json', ...args], env).ended;
      if (outcome.code !== code) {
        throw new Error(`sync ended with ${outcome.code}, not ${code}: ${outcome.stdout}${outcome.stderr}`);
      }
      return JSON.parse(outcome.stdout) as SyncReport;
    },
    /** The value of a query that has one row and column. @throws where there is no row */
    async one<T>(text: string, ...values: readonly unknown[]): Promise<T> {
      const { rows } = await db.query<Record<string, T>>(text, [...values]);
      if (rows[0] === undefined) throw new Error(`nothing answers ${text}`);
      return Object.values(rows[0])[0] as T;
    },
    /** `start`, once it says that it mirrors. */
    async daemon(env?: Environment): Promise<Daemon> {
      const program = begin(['start'], env);
      await program.until('status page http');
      const statusUrl = await eventually(
        'the status page’s address',
        () => /status page (http:\S+?)\/?["\s]/.exec(program.output())?.[1],
      );
      return {
        ...program,
        statusUrl,
        stop(signal = 'SIGTERM') {
          program.child.kill(signal);
          return program.ended;
        },
      };
    },
    /** Kills what still runs and removes everything. */
    async close(): Promise<void> {
      await programs.close();
      await Promise.all([db.end(), sandbox.stop()]);
      await database.drop();
    },
  };
}

/** The same, whose data stand still: no job that is under way goes on. */
export async function createFrozenSystem(...made: Parameters<typeof createSystem>) {
  const system = await createSystem(...made);
  await system.sandbox.control.clock({ freeze: true });
  return system;
}

/** What is set. */
export function present(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
