import { expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { openMirror } from '../../../src/postgres/open-mirror.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { createMigratedTestDatabase } from '../../support/databases/migrated-database.ts';
import { SILENT_LOG } from '../../support/sync/quiet-parts.ts';

it('pages and reports wait for no viewer; viewers who find both connections in use wait in line', async () => {
  const { url, drop } = await createMigratedTestDatabase();
  const config = loadConfig(
    { DATABASE_URL: url, MIRROR_API_URL: 'http://localhost:1', MIRROR_API_KEY: 'key' },
    'service',
  );
  const { signal } = new AbortController();
  const outside = { command: 'start', log: SILENT_LOG, clock: systemClock, signal, hide: () => {} };
  const mirror = await openMirror(config, outside);
  const read = Promise.withResolvers<void>();
  const viewers = Array.from({ length: 12 }, () =>
    mirror.viewersDb.snapshot(async (trx) => {
      await trx.sql`select`;
      await read.promise;
    }),
  );
  // Twelve on the connections of pages, of which there are ten, would leave none.
  expect((await mirror.db.sql`select from mirror.research_jobs`).rows).toEqual([]);
  read.resolve();
  expect(await Promise.all(viewers)).toHaveLength(12);
  await mirror.close();
  await drop();
});
