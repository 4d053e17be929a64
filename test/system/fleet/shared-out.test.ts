import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { OwnershipWatch } from '../../support/fleet/ownership-watch.ts';
import { createFrozenSystem, type Daemon, type System } from '../../support/processes/system.ts';

const JOBS = 20;

let system: System;
/** Accounts, from 1001 on; every daemon has the keys of all. */
let users: number[];
let env: { readonly MIRROR_API_KEY: string };
/** Those that run, in the order in which they were started. */
const daemons: Daemon[] = [];
let jobs = JOBS;
/** Ends what watches a fleet. */
let over: AbortController;
afterEach(async () => {
  over.abort();
  await system.close();
});

async function createFleet(accounts: number, switches: Partial<SandboxOptions> = {}): Promise<void> {
  users = Array.from({ length: accounts }, (_, index) => 1001 + index);
  env = { MIRROR_API_KEY: users.map((user) => `key-${user}`).join() };
  system = await createFrozenSystem({
    keys: users.map((user) => `key-${user}=${user}`).join(),
    jobs: JOBS,
    lists: 1,
    bulkJobs: 1,
    watchlist: 1,
    ...switches,
  });
  over = new AbortController();
  daemons.length = 0;
  jobs = JOBS;
}

/** As others see it, it runs on a machine of its own: they must wait for its heartbeat to run out. */
async function start(): Promise<Daemon> {
  const daemon = await system.daemon(env);
  daemons.push(daemon);
  // Its own identity is in its memory.
  await system.db.query('update mirror_sync.process set machine = process_id where pid = $1', [
    daemon.child.pid,
  ]);
  void daemon.ended.then(() => daemons.splice(daemons.indexOf(daemon), 1));
  return daemon;
}

async function ownedBy(daemon: Daemon | undefined): Promise<string[]> {
  const { rows } = await system.db.query<{ user: string }>(
    `select a._user_id::text as user from mirror_sync.account a
     join mirror_sync.process p on p.process_id = a.owner where p.pid = $1`,
    [daemon?.child.pid],
  );
  return rows.map(({ user }) => user);
}

/** Waits until the daemons own these numbers of accounts, in rising order. */
function shares(...expected: readonly number[]): Promise<boolean> {
  return eventually(`shares of ${expected.join()}`, async () => {
    const counts = await Promise.all(daemons.map(async (each) => (await ownedBy(each)).length));
    return counts.toSorted((a, b) => a - b).join() === expected.join();
  });
}

/** Adds a research job to each account. */
async function change(): Promise<void> {
  jobs += 1;
  const fields = { status: 'completed' };
  for (const user of users)
    await system.sandbox.control.mutate({ op: 'insert', collection: 'research_jobs', user, fields });
}

/** Has the owners read all accounts, and waits until each has all research jobs. */
async function mirrorsAll(): Promise<void> {
  await system.sync([], { env });
  await eventually('all research jobs', async () => {
    const { rows } = await system.db.query<{ count: number }>(
      'select count(*)::int as count from mirror.research_jobs where _deleted_at is null group by _user_id',
    );
    return rows.length === users.length && rows.every(({ count }) => count === jobs);
  });
}

describe('daemons with the same keys', () => {
  it('share accounts out evenly when one joins, is killed and is stopped, and no change is missed', async () => {
    await createFleet(12);
    await start();
    await shares(12);
    await start();
    await shares(6, 6);
    const third = await start();
    await shares(4, 4, 4);
    await mirrorsAll();

    await third.stop('SIGKILL');
    await shares(6, 6);
    await change();
    await mirrorsAll();

    const [first] = daemons;
    expect(await first?.stop()).toMatchObject({ code: 0 });
    await shares(12);
    await change();
    await mirrorsAll();
    expect((await system.sandbox.control.counters()).maxInFlightPerScope).toBe(1);
  });
});

describe('a rolling restart', () => {
  it('hands accounts over before a daemon ends, and sends nothing too often', async () => {
    await createFleet(8, { limits: 'on', limitOther: 60, latencyMin: 20, latencyMax: 200 });
    for (let started = 0; started < 3; started += 1) await start();
    await shares(2, 3, 3);
    const watch = new OwnershipWatch(system.db, (pid) => daemons.some(({ child }) => child.pid === pid));
    const watching = watch.run(over.signal);
    for (let round = 0; round < 3; round += 1) {
      const [oldest, ...others] = daemons;
      const before = await ownedBy(oldest);
      const stopped = oldest?.stop();
      await eventually('the others to have all', async () => {
        const theirs = await Promise.all(others.map((each) => ownedBy(each)));
        return before.every((userId) => theirs.flat().includes(userId));
      });
      expect(await stopped).toMatchObject({ code: 0, signal: null });
      await start();
      await shares(2, 3, 3);
    }
    over.abort();
    await watching;
    // Each was given up before its owner ended: none had to be waited for until a heartbeat ran out.
    expect(watch.gaps.filter(({ afterKill }) => afterKill)).toEqual([]);
    const { maxInFlightPerScope, rateLimited } = await system.sandbox.control.counters();
    expect({ maxInFlightPerScope, rateLimited }).toEqual({ maxInFlightPerScope: 1, rateLimited: 0 });
  });
});
