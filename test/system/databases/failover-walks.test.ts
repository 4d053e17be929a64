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
  const update = {
    op: 'update',
    collection: 'research_jobs',
    fields: { walk: 'second' },
    silent: true,
  } as const;
  await sandbox.control.mutate(...rows.map(({ job_id: id }) => ({ ...update, id })));
  const { requests } = await sandbox.control.counters();
  const completeAsOf = () =>
    system.one<Date>(`select complete_as_of from mirror.freshness where collection = 'research_jobs'`);
  const before = await completeAsOf();
  const running = system.begin(['sync', 'research_jobs', '--full']);
  const owned = 'select count(owner) = 1 from mirror_sync.account';
  await eventually(
    'the walk to begin',
    async () => (await system.one<boolean>(owned)) && (await sandbox.control.counters()).requests > requests + 1,
  );
  await prepare();
  const changed = `select exists (select from mirror.research_jobs where _raw ->> 'walk' = 'second')`;
  await eventually('the first page', () => system.one<boolean>(changed));
  await lose();

  const { code, stdout, stderr } = await running.ended;
  // Either it is as complete as it says, or it says that it is not.
  if (code === 0) {
    const missing = await differences(system);
    return missing.filter((line) => line.startsWith('research_jobs')).map((line) => line.slice(0, 80));
  }
  // Which of the two reasons it meets is chance: connections are cut one by one, and the one that it uses after its page
  // has failed may not know yet that it is cut, or be a new one.
  const hasReason = code === 3 && /went back|can't be reached/.test(stdout + stderr);
  return [
    ...(hasReason ? [] : [`it ended with ${code}: ${stdout}${stderr}`]),
    ...((await completeAsOf()).getTime() === before.getTime() ? [] : ['it says that it is complete']),
  ];
}

it('ends equal to the source or with the reason when a crash takes its last page back', async () => {
  const failing = await open(PAGES, { lazyCommits: true });
  const nothing = async (): Promise<void> => {};
  expect(await walkThrough(failing, nothing, () => failing.moving.crash())).toEqual([]);
});

it('ends equal to the source or with the reason when a standby that lacks its last page takes over', async () => {
  const failing = await open(PAGES);
  const { moving } = failing;
  await moving.follow();
  const { cutStandby, failOver } = moving;
  expect(await walkThrough(failing, cutStandby, failOver)).toEqual([]);
});
