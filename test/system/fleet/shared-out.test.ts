import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { OwnershipWatch } from '../../support/fleet/ownership-watch.ts';
import { createFrozenSystem, type Daemon, type System } from '../../support/processes/system.ts';

/** Accounts; every daemon has the keys of all. */
const USERS = Array.from({ length: 8 }, (_, index) => 1001 + index);
const env = { MIRROR_API_KEY: USERS.map((user) => `key-${user}`).join() };

let system: System;
/** Those that run, in the order in which they were started. */
const daemons: Daemon[] = [];
let jobs = 20;
beforeAll(async () => {
  system = await createFrozenSystem({
    keys: USERS.map((user) => `key-${user}=${user}`).join(),
    limits: 'on',
    limitOther: 300,
    latencyMin: 20,
    latencyMax: 200,
    jobs,
    lists: 1,
    bulkJobs: 1,
    watchlist: 1,
  });
});
afterAll(() => system.close());

/** As others see it, it runs on a machine of its own: they must wait for its heartbeat to run out. */
async function start(): Promise<Daemon> {
  const daemon = await system.daemon(env);
  daemons.push(daemon);
  // Its own identity is in its memory.
  await system.db.query('update mirror_sync.process set machine = process_id where pid = $1', [daemon.child.pid]);
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

/** Adds a research job to each account, has the owners read all, and waits until each has all research jobs. */
async function missNoChange(): Promise<void> {
  jobs += 1;
  const fields = { status: 'completed' };
  for (const user of USERS)
    await system.sandbox.control.mutate({ op: 'insert', collection: 'research_jobs', user, fields });
  await system.sync([], { env });
  await eventually('all research jobs', async () => {
    const { rows } = await system.db.query<{ count: number }>(
      'select count(*)::int as count from mirror.research_jobs where _deleted_at is null group by _user_id',
    );
    return rows.length === USERS.length && rows.every(({ count }) => count === jobs);
  });
}

/** In this order, on one fleet. */
describe('daemons with the same keys', () => {
  it('share accounts out evenly when one joins and one is killed, and miss no change', async () => {
    await start();
    await shares(8);
    await start();
    await shares(4, 4);
    const third = await start();
    await shares(2, 3, 3);
    await missNoChange();
    expect(await third.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
    await shares(4, 4);
    await missNoChange();
  });

  it('hand accounts over before they end in a rolling restart, and send nothing too often', async () => {
    await start();
    await shares(2, 3, 3);
    const watch = new OwnershipWatch(system.db, (pid) => daemons.some(({ child }) => child.pid === pid));
    const over = new AbortController();
    const watching = watch.run(over.signal);
    try {
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
    } finally {
      over.abort();
      await watching;
    }
    // Each was given up before its owner ended: none had to be waited for until a heartbeat ran out.
    expect(watch.gaps.filter(({ afterKill }) => afterKill)).toEqual([]);
    await missNoChange();
    const { maxInFlightPerScope, rateLimited } = await system.sandbox.control.counters();
    expect({ maxInFlightPerScope, rateLimited }).toEqual({ maxInFlightPerScope: 1, rateLimited: 0 });
  });
});
