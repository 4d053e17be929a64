import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';

const GRACE_PERIOD_MS = 1_000;
const GRACE_PERIOD: Environment = { MIRROR_SETTLE: `${GRACE_PERIOD_MS / 1000}s` };
/** One request at a time, slow enough to be killed between two. */
const SLOW = { latencyMin: 150, latencyMax: 150 } as const;
const QUICK = { latencyMin: 0, latencyMax: 0 } as const;

let system: System;
afterEach(() => system.close());

async function jobs(): Promise<string[]> {
  const truth = await system.sandbox.control.truth({ collection: 'research_jobs' });
  return truth.map((text) => String((JSON.parse(text) as { job_id: number }).job_id));
}

/** Six pages of jobs in the mirror, and a walk over them that was killed (SIGKILL) behind the third. */
async function killed(switches: Partial<SandboxOptions> = {}): Promise<void> {
  system = await createSystem({ maxLimit: 50, badLimit: 'clamped', ...switches });
  await system.sandbox.control.clock({ freeze: true });
  await system.sync(['--full', 'research_jobs'], { env: GRACE_PERIOD });
  await killWalk();
}

async function killWalk(): Promise<void> {
  await system.sandbox.control.change(SLOW);
  // A busy machine may see none of its later pages before the walk has ended: the next one, then.
  let signal: NodeJS.Signals | null;
  do {
    let ended = false;
    const walk = system.begin(['sync', '--full', 'research_jobs'], GRACE_PERIOD);
    void walk.ended.then(() => (ended = true));
    await eventually('three pages', async () => ended || (await pagesWalked()) >= 3);
    walk.child.kill('SIGKILL');
    ({ signal } = await walk.ended);
  } while ((await pagesWalked()) < 3);
  expect(signal).toBe('SIGKILL');
  await system.sandbox.control.change(QUICK);
  await system.db.query('delete from mirror_sync.slot_block');
}

/** Pages that the unfinished walk has written. */
async function pagesWalked(): Promise<number> {
  const { rows } = await system.db.query<{ pages: number | null }>(
    `select (full_walk->>'pages')::int as pages from mirror_sync.scope where collection = 'research_jobs'`,
  );
  return rows[0]?.pages ?? 0;
}

/** Jobs that are gone from what the killed walk had read. */
async function removeRead(): Promise<string[]> {
  const all = await jobs();
  const gone = [all[5], all[60], all[61]].map(String);
  await system.sandbox.control.mutate(
    ...gone.map((id) => ({ op: 'delete', collection: 'research_jobs', id }) as const),
  );
  return gone;
}

async function deletedJobs(): Promise<string[]> {
  const { rows } = await system.db.query<{ id: string }>(
    'select job_id::text as id from mirror.research_jobs where _deleted_at is not null',
  );
  return rows.map(({ id }) => id);
}

async function completeAsOf(): Promise<number> {
  const { rows } = await system.db.query<{ at: Date | null }>(
    `select complete_as_of as at from mirror.freshness where collection = 'research_jobs'`,
  );
  return rows[0]?.at?.getTime() ?? 0;
}

async function databaseNow(): Promise<number> {
  const { rows } = await system.db.query<{ now: Date }>('select clock_timestamp() as now');
  return rows[0]?.now.getTime() ?? Number.NaN;
}

describe('sync --full after a walk that was killed in the middle', () => {
  it.each(['falling', 'rising', 'last-updated', 'unordered'] as const)(
    'deletes what went meanwhile from the part that was read before: %s',
    async (order) => {
      await killed({ order });
      const gone = await removeRead();
      const began = await databaseNow();
      const { code, stdout, stderr } = await system.run(['sync', '--full', 'research_jobs'], GRACE_PERIOD);
      expect({ code, stderr }).toMatchObject({ code: 0 });
      expect((await deletedJobs()).toSorted()).toEqual(gone.toSorted());
      expect((await differences(system)).filter((each) => each.startsWith('research_jobs'))).toEqual([]);
      expect(await completeAsOf()).toBeGreaterThanOrEqual(began - GRACE_PERIOD_MS);
      expect(stdout).toMatch(/research_jobs: complete as of \d{4}-\d\d-\d\dT/);
    },
  );

  it('does so in a first load, too', async () => {
    system = await createSystem({ maxLimit: 50, badLimit: 'clamped' });
    await system.sandbox.control.clock({ freeze: true });
    await killWalk();
    const gone = await removeRead();
    const began = await databaseNow();
    await system.sync(['--full', 'research_jobs'], { env: GRACE_PERIOD });
    expect((await deletedJobs()).toSorted()).toEqual(gone.toSorted());
    expect(await completeAsOf()).toBeGreaterThanOrEqual(began - GRACE_PERIOD_MS);
  });

  it('reads no more again than what was read before, where nothing is missing', async () => {
    await killed();
    const before = await pagesWalked();
    const { requests } = await system.sandbox.control.counters();
    await system.sync(['--full', 'research_jobs'], { env: GRACE_PERIOD });
    // The key's ping, six pages in all, and those that may be repeated: the one under way, and that which leads on.
    expect((await system.sandbox.control.counters()).requests - requests).toBeLessThanOrEqual(1 + 6 + 2);
    expect(before).toBeGreaterThanOrEqual(3);
  });
});

describe('a daemon that is killed in the middle of its full walk', () => {
  it('counts it as done only when it has read again what it had read before', async () => {
    await killed();
    const gone = await removeRead();
    await system.db.query(
      `update mirror._collections set next_full_at = now() - interval '1 minute' where collection = 'research_jobs'`,
    );
    const began = await databaseNow();
    const daemon = await system.daemon({
      ...GRACE_PERIOD,
      MIRROR_POLL_CRON: 'never',
      MIRROR_COLLECTIONS: 'research_jobs',
    });
    await eventually('the next full walk', async () => {
      const { rows } = await system.db.query<{ kept: boolean }>(
        `select next_full_at > now() as kept from mirror._collections where collection = 'research_jobs'`,
      );
      return rows[0]?.kept === true;
    });
    await eventually('the deletions', async () => (await deletedJobs()).length === gone.length);
    await eventually('completeness', async () => (await completeAsOf()) >= began - GRACE_PERIOD_MS);
    expect((await daemon.stop()).code).toBe(0);
    expect((await deletedJobs()).toSorted()).toEqual(gone.toSorted());
  });
});
