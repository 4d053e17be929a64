import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/switches/sandbox-switches.ts';
import { SANDBOX_SWITCHES } from '../../src/sandbox/switches/sandbox-switches.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createTestAccount, type TestAccount } from '../support/read-account.ts';

// A cache between the mirror and the service that answers with copies, whatever it is asked for.

const NEW = '990001';

let test: TestAccount;
afterEach(() => test.close());

/** Mirrored, with a row that the cache's copies, of the sandbox's start, do not have; older than the settle time. */
async function withNewRow(switches: Partial<SandboxOptions>): Promise<void> {
  // Long ago: what is there stands still, and was there when the sandbox started.
  const epoch = '2020-01-01T00:00:00Z';
  test = await createTestAccount({ epoch, ...switches }, systemClock, { MIRROR_SETTLE: '1s' });
  const { control } = test.sandbox;
  await control.mutate({ op: 'insert', collection: 'watchlist', id: NEW, fields: { score: 1 } });
  await control.mutate({
    op: 'insert',
    collection: 'research_jobs',
    id: NEW,
    fields: { status: 'completed' },
  });
  for (const name of ['research_jobs', 'watchlist'] as const) {
    expect((await test.read(name, 'full')).error).toBeUndefined();
    await test.query(
      `update mirror.${name} set _changed_at = _changed_at - interval '1 minute',
         _first_seen_at = _first_seen_at - interval '1 minute'`,
    );
    await test.query(`update mirror.${name}_history set _valid_to = _valid_to - interval '1 minute'`);
  }
}

async function live(table: string, key: string): Promise<boolean> {
  const rows = await test.query(
    `select 1 from mirror.${table} where ${key}::text = '${NEW}' and _deleted_at is null`,
  );
  return rows.length === 1;
}

async function completeAsOf(name: string): Promise<Date | undefined> {
  const [row] = await test.query<{ at: Date | null }>(
    `select complete_as_of as at from mirror.freshness where collection = '${name}'`,
  );
  return row?.at ?? undefined;
}

describe.each(SANDBOX_SWITCHES.cacheTells.choices ?? [])('a cache that tells of itself by %s', (tells) => {
  const cacheTells = tells as SandboxOptions['cacheTells'];

  it.each(['falling', 'unordered'] as const)('is no second proof: order %s', async (order) => {
    await withNewRow({ order, cacheTells });
    const before = await completeAsOf('watchlist');
    await test.sandbox.control.change({ faultCached: 1 });
    // A snapshot, and many pages; twice, as on two days.
    for (let pass = 1; pass <= 2; pass += 1) {
      await test.read('watchlist', 'full');
      await test.read('research_jobs', 'full');
    }
    expect([await live('watchlist', 'id'), await live('research_jobs', 'job_id')]).toEqual([true, true]);
    if (cacheTells !== 'date') expect(await completeAsOf('watchlist')).toEqual(before);
    // The service answers again, and says what is there.
    await test.sandbox.control.change({ faultCached: 0 });
    await test.read('watchlist', 'full');
    await test.read('research_jobs', 'full');
    const waiting = await test.query(`select 1 from mirror.data_quality where waiting_deletions > 0`);
    expect(waiting).toEqual([]);
    expect([await live('watchlist', 'id'), await live('research_jobs', 'job_id')]).toEqual([true, true]);
  });
});

describe('what is gone', () => {
  it('is deleted by two answers of the service itself, whose dates are the settle time apart', async () => {
    await withNewRow({});
    await test.sandbox.control.mutate({ op: 'delete', collection: 'watchlist', id: NEW });
    expect((await test.read('watchlist', 'full')).error).toBeUndefined();
    expect(await live('watchlist', 'id')).toBe(false);
  });
});
