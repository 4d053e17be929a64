import { expect, it } from 'vitest';
import { WatermarkReader } from '../../attack/walks/checks/watermark.ts';
import { failingSystems } from '../../support/databases/failing-system.ts';
import type { System } from '../../support/processes/system.ts';

const open = failingSystems();

/** Changes the status of `count` jobs, from the one at `first` on, and mirrors it. */
async function change(system: System, first: number, count: number, status: string): Promise<void> {
  const { db, sandbox } = system;
  const { rows } = await db.query<{ job_id: string }>(
    'select job_id from mirror.research_jobs order by job_id offset $1 limit $2',
    [first, count],
  );
  await sandbox.control.mutate(
    ...rows.map(({ job_id: id }) => ({
      op: 'update' as const,
      collection: 'research_jobs' as const,
      id,
      fields: { status },
      silent: true,
    })),
  );
  await system.sync(['research_jobs', '--full']);
}

it('loses no row of a consumer that follows _change_id and looks at the mark, after commits that it has read are lost', async () => {
  const { system, moving } = await open();
  await system.sandbox.control.clock({ freeze: true });
  await system.sync(['--full']);
  const consumer = new WatermarkReader(system.db, String(system.sandbox.userId), ['research_jobs'], true);
  await consumer.follow();
  await moving.follow();
  await moving.cutStandby();
  await change(system, 0, 60, 'lost');
  await consumer.follow();
  await moving.failOver();

  await change(system, 100, 50, 'after the failover');
  expect(await consumer.check()).toEqual([]);
  expect(consumer.compared).toBe(1);
});

it('tells a consumer of rows that a crash took while no program ran that knew of them', async () => {
  const { system, moving } = await open({}, { lazyCommits: true });
  const { control } = system.sandbox;
  await control.clock({ freeze: true });
  await system.sync(['--full']);
  // What is there now is on disk.
  await moving.server().ask('checkpoint');
  const consumer = new WatermarkReader(system.db, String(system.sandbox.userId), ['watchlist'], true);
  const [id = ''] = await control.mutate({ op: 'insert', collection: 'watchlist', fields: {} });
  await system.sync(['watchlist', '--full']);
  await consumer.follow();
  await moving.crash();
  const { rowCount } = await system.db.query('select from mirror.watchlist where id = $1', [id]);
  expect(rowCount).toBe(0);
  await control.mutate({ op: 'delete', collection: 'watchlist', id });

  await system.sync(['watchlist', '--full']);
  const { rows } = await system.db.query<{ reason: string }>('select reason from mirror.recoveries');
  expect(rows).toEqual([{ reason: expect.stringContaining('the server crashed') as string }]);
  expect(await consumer.check()).toEqual([]);
  // Once is enough.
  await system.sync(['watchlist', '--full']);
  expect((await system.db.query('select from mirror.recoveries')).rowCount).toBe(1);
});
