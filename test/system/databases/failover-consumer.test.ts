import { expect, it } from 'vitest';
import { WatermarkReader } from '../../attack/walks/checks/watermark.ts';
import { failingSystems } from '../../support/databases/failing-system.ts';

const open = failingSystems();

it('tells a consumer of rows that a crash took while no program ran that knew of them', async () => {
  const { system, moving } = await open({}, { lazyCommits: true });
  const { control } = system.sandbox;
  await control.clock({ freeze: true });
  await system.sync(['--full']);
  // What is there now is on disk.
  await moving.server().ask('checkpoint');
  const consumer = new WatermarkReader(system.db, String(system.sandbox.userId), ['watchlist'], true);
  let id = '';
  for (let tries = 0; ; tries += 1) {
    [id = ''] = await control.mutate({ op: 'insert', collection: 'watchlist', fields: {} });
    await system.sync(['watchlist', '--full']);
    await consumer.follow();
    await moving.crash();
    const { rowCount } = await system.db.query('select from mirror.watchlist where id = $1', [id]);
    if (rowCount === 0) break;
    // A durable commit behind the page's, of a slot that was reserved, took it to the disk.
    expect(tries).toBeLessThan(5);
  }
  await control.mutate({ op: 'delete', collection: 'watchlist', id });

  await system.sync(['watchlist', '--full']);
  const { rows } = await system.db.query<{ reason: string }>('select reason from mirror.recoveries');
  expect(rows.at(-1)).toEqual({ reason: expect.stringContaining('the server crashed') as string });
  expect(await consumer.check()).toEqual([]);
  // Once is enough.
  await system.sync(['watchlist', '--full']);
  expect((await system.db.query('select from mirror.recoveries')).rowCount).toBe(rows.length);
});
