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
  let crashes = 0;
  for (let isLost = false; !isLost;) {
    [id = ''] = await control.mutate({ op: 'insert', collection: 'watchlist', fields: {} });
    await system.sync(['watchlist', '--full']);
    await consumer.follow();
    await moving.crash();
    crashes += 1;
    const { rowCount } = await system.db.query('select from mirror.watchlist where id = $1', [id]);
    isLost = rowCount === 0;
    // What waits is written each ten seconds, and with a commit that is durable: then it was on disk.
    expect(crashes).toBeLessThan(3);
  }
  await control.mutate({ op: 'delete', collection: 'watchlist', id });

  await system.sync(['watchlist', '--full']);
  const { rows } = await system.db.query<{ reason: string }>('select reason from mirror.recoveries');
  const reason = expect.stringContaining('the server crashed') as string;
  expect(rows).toEqual(Array.from({ length: crashes }, () => ({ reason })));
  expect(await consumer.check()).toEqual([]);
  // Once for each crash is enough.
  await system.sync(['watchlist', '--full']);
  expect((await system.db.query('select from mirror.recoveries')).rowCount).toBe(crashes);
});
