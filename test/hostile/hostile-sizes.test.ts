import { describe, expect, it } from 'vitest';
import { testDatabase } from '../support/databases/migrated-database.ts';
import { startHostileService } from './hostile-service.ts';

const mirror = testDatabase();

describe('pages that are too large to be held', () => {
  it('of one item are held up to 32 MiB; a larger one is named', async () => {
    const service = await startHostileService(mirror, {
      jobs: 2,
      maxLimit: 500,
      hostileShare: 1,
      hostileKinds: 'megabyte',
      megabytes: 10,
    });
    const account = await service.account();
    const signal = new AbortController().signal;
    expect(await account.reader.read('research_jobs', { what: 'full', signal })).toMatchObject({
      error: undefined,
      totals: { inserted: 2 },
    });
    await service.sandbox.control.change({ megabytes: 40 });
    const { error } = await account.reader.read('research_jobs', { what: 'full', signal });
    expect(error?.message).toMatch(/^page 1 \(from the top\) is too large to be held, with a single item/);
    await account.close();
    await service.close();
  });
});
