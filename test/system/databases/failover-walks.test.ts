import { expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { type FailingSystem, failingSystems } from '../../support/databases/failing-system.ts';
import { differences } from '../../support/mirror/mirror-truth.ts';

const open = failingSystems();

/** Pages of 50 of 300 jobs, slowly enough to come between two of them. */
const PAGES = { maxLimit: 50, badLimit: 'clamped', latencyMin: 500, latencyMax: 500 } as const;

/**
 * The second full walk of the jobs, all of which have changed since the first. Once it owns its account `prepare` is
 * called, and `lose` once its first page is committed.
 * @returns what it says and is not so
 */
async function walkThrough(
  { system }: FailingSystem,
  prepare: () => Promise<void>,
  lose: () => Promise<void>,
): Promise<string[]> {
  const { db, sandbox } = system;
  await sandbox.control.clock({ freeze: true });
  await system.sync(['research_jobs', '--full']);
  const { rows } = await db.query<{ job_id: string }>('select job_id from mirror.research_jobs');
  await sandbox.control.mutate(
    ...rows.map(({ job_id: id }) => ({
      op: 'update' as const,
      collection: 'research_jobs' as const,
      id,
      fields: { walk: 'second' },
      silent: true,
    })),
  );
  const { requests } = await sandbox.control.counters();
  const { rows: before } = await db.query<{ at: Date }>(
    `select complete_as_of as at from mirror.freshness where collection = 'research_jobs'`,
  );
  const running = system.begin(['sync', 'research_jobs', '--full']);
  await eventually('the walk to begin', async () => {
    const owned = await db.query('select from mirror_sync.account where owner is not null');
    return owned.rowCount === 1 && (await sandbox.control.counters()).requests > requests + 1;
  });
  await prepare();
  await eventually('the first page', async () => {
    const changed = await db.query(
      `select from mirror.research_jobs where _raw ->> 'walk' = 'second' limit 1`,
    );
    return changed.rowCount === 1;
  });
  await lose();

  const { code, stdout, stderr } = await running.ended;
  // Either it is as complete as it says, or it says that it is not.
  if (code === 0) {
    const missing = await differences(system);
    return missing.filter((line) => line.startsWith('research_jobs')).map((line) => line.slice(0, 80));
  }
  const { rows: after } = await db.query<{ at: Date }>(
    `select complete_as_of as at from mirror.freshness where collection = 'research_jobs'`,
  );
  // Which of the two reasons it meets is chance: connections are cut one by one, and the one that it uses after its page
  // has failed may not know yet that it is cut, or be a new one.
  const hasReason = code === 3 && /went back|can't be reached/.test(stdout + stderr);
  return [
    ...(hasReason ? [] : [`it ended with ${code}: ${stdout}${stderr}`]),
    ...(after[0]?.at.getTime() === before[0]?.at.getTime() ? [] : ['it says that it is complete']),
  ];
}

it('ends equal to the source or with the reason when a crash takes its last page back', async () => {
  const failing = await open(PAGES, { lazyCommits: true });
  const untrue = await walkThrough(
    failing,
    async () => {},
    () => failing.moving.crash(),
  );
  expect(untrue).toEqual([]);
});

it('ends equal to the source or with the reason when a standby that lacks its last page takes over', async () => {
  const failing = await open(PAGES);
  const { moving } = failing;
  await moving.follow();
  const untrue = await walkThrough(
    failing,
    () => moving.cutStandby(),
    () => moving.failOver(),
  );
  expect(untrue).toEqual([]);
});
