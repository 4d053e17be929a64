import { expect, it } from 'vitest';
import { testDatabase } from '../support/databases/migrated-database.ts';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';

const database = testDatabase();

// The tool's cluster runs on PostgreSQL 15, the oldest that a mirror may be on, which writes views in other words.
it.each(['research_jobs', 'watchlist', 'lists'] as const)(
  'the view of live rows of %s gets new columns, also on an older server than ours',
  async (collection) => {
    const account = await MirroredAccount.make(database, '7');
    const ids = { research_jobs: '"job_id":17', lists: '"list_id":17', watchlist: '"id":"17"' };
    await account.page(collection, `[{${ids[collection]},"color":"red"}]`);
    const rows = await database.rows(`select _key, color from mirror.${collection}_live`);
    expect(rows).toEqual([{ _key: expect.stringMatching(/^7:.*17$/), color: 'red' }]);
  },
);
