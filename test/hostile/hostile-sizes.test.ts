import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHostileMirror, type HostileMirror, startHostileService } from './hostile-service.ts';

let mirror: HostileMirror;
beforeAll(async () => {
  mirror = await createHostileMirror();
});
afterAll(() => mirror.drop());

describe('pages that are too large to be held', () => {
  it('are asked for in parts, each item is mirrored whole, and small pages are large again behind them', async () => {
    // Each item of 3 MB; two fit into a page.
    const service = await startHostileService(mirror, {
      jobs: 12,
      maxLimit: 500,
      hostileShare: 1,
      hostileKinds: 'megabyte',
      megabytes: 3,
    });
    const account = await service.account();
    const signal = new AbortController().signal;
    expect(await account.reader.read('research_jobs', { what: 'full', signal })).toMatchObject({
      error: undefined,
      totals: { items: 12, inserted: 12 },
    });
    const { rows } = await sql<{ count: number; length: number }>`
      select count(*)::int as count, min(length(report)) as length from mirror.research_jobs
      where _user_id = ${account.userId}`.execute(mirror.kysely);
    expect(rows).toEqual([{ count: 12, length: 3_000_000 }]);

    // The same again in the size that was learnt: no page has to be given up.
    await service.sandbox.control.resetCounters();
    expect(await account.reader.read('research_jobs', { what: 'full', signal })).toMatchObject({
      totals: { items: 12, updated: 0 },
    });
    const log = await service.sandbox.control.log();
    expect(log.map(({ items }) => items)).not.toContain(12);

    // The patch of huge items is over: after some pages the next greater size is tried.
    await service.sandbox.control.change({ hostileShare: 0 });
    let greatest = 0;
    for (let pass = 1; pass <= 30 && greatest < 12; pass += 1) {
      await service.sandbox.control.resetCounters();
      await account.reader.read('research_jobs', { what: 'full', signal });
      greatest = Math.max(...(await service.sandbox.control.log()).map(({ items }) => items ?? 0));
    }
    expect(greatest).toBe(12);
    await account.close();
    await service.close();
  });

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

  it('are asked for with an item more where the first ones have no ID to go on after', async () => {
    // One item of 5 MB fits into a page, two do not.
    // What a user's items are follows from the seed and the user.
    const service = await startHostileService(
      { ...mirror, users: 1000 },
      {
        jobs: 14,
        seed: 2,
        maxLimit: 500,
        hostileShare: 1,
        hostileKinds: 'no-id,megabyte',
        megabytes: 5,
      },
    );
    const account = await service.account();
    const signal = new AbortController().signal;
    // What has no ID is met again and again where pages overlap; each item that has one is mirrored once.
    expect(await account.reader.read('research_jobs', { what: 'full', signal })).toMatchObject({
      error: undefined,
      totals: { inserted: 6 },
    });
    const log = await service.sandbox.control.log();
    expect(log.map(({ items }) => items)).toContain(2);

    // One that is larger than a page may be is held behind another all the same: it is needed to go on.
    await service.sandbox.control.change({ megabytes: 9 });
    expect(await account.reader.read('research_jobs', { what: 'full', signal })).toMatchObject({
      error: undefined,
      totals: { updated: 6 },
    });
    await account.close();
    await service.close();
  });
});
