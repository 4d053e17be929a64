import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { OwnershipWatch } from './ownership-watch.ts';
import { createSystem, type Daemon, type System } from '../processes/system.ts';

/** Some daemons on one database, with the keys of some accounts from 1001 on. */
export interface TestFleet {
  readonly system: System;
  /** Those that run, in the order in which they were started. */
  readonly daemons: readonly Daemon[];
  /** Looks at who owns what from now on, until the fleet is closed. */
  watch(): OwnershipWatch;
  /** As others see it, it runs on a machine of its own: they must wait for its heartbeat to run out. */
  start(): Promise<Daemon>;
  /** How many accounts each daemon that runs owns, the least first. */
  counts(): Promise<number[]>;
  /** Waits until the counts are these. */
  shares(counts: readonly number[]): Promise<void>;
  ownedBy(daemon: Daemon | undefined): Promise<string[]>;
  /** Adds a research job to each account. */
  change(): Promise<void>;
  /** Has the owners read all accounts, and waits until each has all research jobs. */
  mirrorsAll(): Promise<void>;
  close(): Promise<void>;
}

const JOBS = 20;

export async function createFleet(
  accounts: number,
  switches: Partial<SandboxOptions> = {},
): Promise<TestFleet> {
  const users = Array.from({ length: accounts }, (_, index) => 1001 + index);
  const keys = users.map((user) => `key-${user}`).join();
  const system = await createSystem({
    keys: users.map((user) => `key-${user}=${user}`).join(),
    jobs: JOBS,
    lists: 1,
    bulkJobs: 1,
    watchlist: 1,
    ...switches,
  });
  await system.sandbox.control.clock({ freeze: true });
  const daemons: Daemon[] = [];
  const over = new AbortController();
  const watching: Promise<void>[] = [];
  let jobs = JOBS;
  const owners = async (): Promise<readonly { userId: string; pid: number }[]> => {
    const { rows } = await system.db.query<{ userId: string; pid: number }>(
      `select a._user_id::text as "userId", p.pid from mirror_sync.account a
       join mirror_sync.process p on p.process_id = a.owner order by 1`,
    );
    return rows;
  };
  const counts = async (): Promise<number[]> => {
    const all = await owners();
    return daemons
      .map(({ child }) => all.filter(({ pid }) => pid === child.pid).length)
      .toSorted((a, b) => a - b);
  };
  return {
    system,
    daemons,
    async start() {
      const daemon = await system.daemon({
        MIRROR_API_KEY: keys,
      });
      daemons.push(daemon);
      // Its own identity is in its memory.
      await system.db.query('update mirror_sync.process set machine = process_id where pid = $1', [
        daemon.child.pid,
      ]);
      void daemon.ended.then(() => daemons.splice(daemons.indexOf(daemon), 1));
      return daemon;
    },
    counts,
    async shares(expected) {
      await eventually(
        `shares of ${expected.join()}`,
        async () => (await counts()).join() === expected.join(),
      );
    },
    async ownedBy(daemon) {
      return (await owners()).filter(({ pid }) => pid === daemon?.child.pid).map(({ userId }) => userId);
    },
    async change() {
      jobs += 1;
      for (const user of users) {
        await system.sandbox.control.mutate({
          op: 'insert',
          collection: 'research_jobs',
          user,
          fields: { status: 'completed' },
        });
      }
    },
    async mirrorsAll() {
      await system.sync([], { env: { MIRROR_API_KEY: keys } });
      await eventually('all research jobs', async () => {
        const { rows } = await system.db.query<{ count: number }>(
          'select count(*)::int as count from mirror.research_jobs where _deleted_at is null group by _user_id',
        );
        return rows.length === accounts && rows.every(({ count }) => count === jobs);
      });
    },
    watch() {
      const watch = new OwnershipWatch(system.db, (pid) => daemons.some(({ child }) => child.pid === pid));
      watching.push(watch.run(over.signal));
      return watch;
    },
    async close() {
      over.abort();
      await Promise.all(watching);
      await system.close();
    },
  };
}
