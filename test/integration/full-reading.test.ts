import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/switches/sandbox-switches.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createTestAccount, type TestAccount } from '../support/read-account.ts';

let test: TestAccount;
afterEach(() => test.close());

/** Read once, older than the settle time. */
async function mirrored(switches: Partial<SandboxOptions> = {}, settle = '1s'): Promise<void> {
  test = await createTestAccount(switches, systemClock, { MIRROR_SETTLE: settle });
  await test.sandbox.control.clock({ freeze: true });
  for (const name of ['research_jobs', 'lists', 'list_items', 'watchlist'] as const) {
    expect((await test.read(name, 'full')).error).toBeUndefined();
  }
  await systemClock.sleep(1_050);
}

async function ids(collection: 'research_jobs' | 'lists' | 'watchlist'): Promise<string[]> {
  const key = { research_jobs: 'job_id', lists: 'list_id', watchlist: 'id' }[collection];
  const truth = await test.sandbox.control.truth({ collection });
  return truth.map((text) => String((JSON.parse(text) as Record<string, unknown>)[key]));
}

async function deleted(table: string, key: string): Promise<string[]> {
  const rows = await test.query<{ key: string }>(
    `select ${key}::text as key from mirror.${table} where _deleted_at is not null order by ${key}`,
  );
  return rows.map((row) => row.key);
}

describe('a full reading', () => {
  it('deletes what two snapshots, the settle time apart, do not hold', async () => {
    await mirrored();
    const [gone = ''] = await ids('watchlist');
    await test.sandbox.control.mutate({ op: 'delete', collection: 'watchlist', id: gone });
    const begin = performance.now();
    const { totals, error } = await test.read('watchlist', 'full');
    expect(error).toBeUndefined();
    expect(performance.now() - begin).toBeGreaterThan(1_000);
    expect(totals.deleted).toBe(1);
    expect(await deleted('watchlist', 'id')).toEqual([gone]);
  });

  it.each(['falling', 'rising', 'last-updated', 'unordered'] as const)(
    'deletes what is gone from many pages: order %s',
    async (order) => {
      await mirrored({ order });
      const all = await ids('research_jobs');
      const gone = [all[3], all[60], all[61], all.at(-1)].map(String);
      await test.sandbox.control.mutate(
        ...gone.map((id) => ({ op: 'delete', collection: 'research_jobs', id }) as const),
      );
      const { error, totals } = await test.read('research_jobs', 'full');
      expect(error).toBeUndefined();
      expect((await deleted('research_jobs', 'job_id')).toSorted()).toEqual(gone.toSorted());
      expect(totals.deleted).toBe(4);
    },
  );
});
