import { expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { compareItems } from '../../../../src/operate/compare-rows.ts';
import { liveAmong, nthNewest, predecessor } from '../../../../src/mirror/live-rows.ts';
import { createMigratedDatabase, openTestDatabase } from '../../../support/databases/migrated-database.ts';
import { deleteAllBut, jobs } from '../../../support/mirror/deleting.ts';
import { itemsOf, MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

const PAGE = 100;
const PAGES = 20;

const page = (nth: number, n: number): string =>
  JSON.stringify(Array.from({ length: PAGE }, (_, i) => ({ job_id: nth * PAGE + i + 1, n })));

// PostgreSQL's statistics know only other accounts: by them the new one has no rows, and any index that begins with
// _user_id is as good as the primary key. The test counts the rows that are read, not the time.
it('an account that comes to a database of others reads as many rows as it looks up, not all of its own each time', async () => {
  const database = await createMigratedDatabase();
  try {
    const first = await MirroredAccount.make(database, '1');
    for (let nth = 0; nth < PAGES; nth += 1) await first.page('research_jobs', page(nth, 1));
    await first.query('alter table mirror.research_jobs set (autovacuum_enabled = off)');
    await first.query('analyze');
    const before = await rowsRead(database.url, PAGES * PAGE);

    const open = await openTestDatabase(database.url);
    const { db } = open;
    const second = await MirroredAccount.make({ ...database, db }, '2', { gracePeriodMs: 0 });
    for (const n of [1, 2]) {
      for (let nth = 0; nth < PAGES; nth += 1) await second.page('research_jobs', page(nth, n));
    }
    await deleteAllBut(second, 'research_jobs', jobs(1), { accept: true });
    for (let nth = 0; nth < PAGES; nth += 1) await second.page('research_jobs', page(nth, 3));
    const scope = second.scope('research_jobs');
    const rules = { ignore: new Set<string>(), exclude: new Set<string>() };
    for (let nth = 0; nth < PAGES; nth += 1) {
      const items = itemsOf('research_jobs', page(nth, 3));
      expect(await compareItems(db, scope, items, rules)).toEqual([]);
      await liveAmong(
        db,
        scope,
        items.flatMap(({ key }) => key ?? []),
      );
      await predecessor(db, scope, 'falling', String(nth * PAGE + 1), 10);
      await nthNewest(db, scope, 10);
    }
    await open.close();
    const after = await rowsRead(database.url, 2 * PAGES * PAGE);
    // Each row is written, changed, deleted, undeleted and compared: a few reads. All rows for each key would be millions.
    expect(after - before).toBeLessThan(40 * PAGES * PAGE);
  } finally {
    await database.drop();
  }
});

/** Rows of research_jobs that were read, once the statistics have all that were written. */
async function rowsRead(url: string, inserted: number): Promise<number> {
  const open = await openTestDatabase(url, { max: 1 });
  try {
    return await eventually('the statistics', async () => {
      const { rows } = await open.db.sql<{ read: string; inserted: string }>`
        select coalesce(idx_tup_fetch, 0) + seq_tup_read as read, n_tup_ins as inserted
        from pg_stat_user_tables where relid = 'mirror.research_jobs'::regclass`;
      return Number(rows[0]?.inserted) >= inserted && Number(rows[0]?.read);
    });
  } finally {
    await open.close();
  }
}
