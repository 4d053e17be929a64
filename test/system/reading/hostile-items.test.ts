import { afterEach, expect, it } from 'vitest';
import { createFrozenSystem, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

it('items of a megabyte each are mirrored whole in little memory, however many a page has', async () => {
  const few = { lists: 1, itemsPerList: 1, bulkJobs: 1, watchlist: 1 };
  system = await createFrozenSystem({ ...few, jobs: 60, hostileShare: 1, hostileKinds: 'megabyte' });
  // A page with all of them is 60 MB: as text, as values and as parameters it would not fit.
  const env = { NODE_OPTIONS: '--max-old-space-size=112' };
  const { collections } = await system.sync(['--full', 'research_jobs'], { env });
  expect(collections).toMatchObject([{ inserted: 60, error: null }]);
  const { rows } = await system.db.query(
    'select count(*)::int as rows, min(length(report)) as least, max(length(report)) as most from mirror.research_jobs',
  );
  expect(rows).toEqual([{ rows: 60, least: 1_000_000, most: 1_000_000 }]);
});
