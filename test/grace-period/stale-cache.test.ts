import { afterEach, describe, expect, it } from 'vitest';
import { SANDBOX_SWITCHES, type SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { systemClock } from '@research-mirror/runtime/clock';
import { createTestAccount, type TestAccount } from '../support/sync/read-account.ts';

// A cache between the mirror and the service that answers with copies, whatever it is asked for.

const NEW = '990001';

let test: TestAccount;
afterEach(() => test.close());

/** Mirrored, with a row that the cache's copies, of the sandbox's start, do not have; older than the grace period. */
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

/** Lists are answered from the cache from now on, or by the service; whose key it is always by the service. */
function copiesAnswer(answer: boolean): void {
  test.onRequest = async (path) => {
    await test.sandbox.control.change({ faultCached: answer && !path.startsWith('/v1/ping') ? 1 : 0 });
  };
}

describe('a copy that says nothing new', () => {
  it.each(['falling', 'unordered'] as const)('is told for no later than it is: order %s', async (order) => {
    test = await createTestAccount({ order });
    const names = ['watchlist', 'research_jobs'] as const;
    const read = async (): Promise<{ polled: Date[]; complete: Date[] }> => {
      for (const name of names) expect((await test.read(name, 'full')).error).toBeUndefined();
      const rows = await test.query<{ polled: Date; complete: Date }>(
        `select polled_at as polled, complete_as_of as complete from mirror.freshness
         where collection in ('watchlist', 'research_jobs') order by collection`,
      );
      return { polled: rows.map(({ polled }) => polled), complete: rows.map(({ complete }) => complete) };
    };
    const first = await read();
    copiesAnswer(true);
    const copied = await read();
    expect(copied.complete).toEqual(first.complete);
    for (const [n, polled] of copied.polled.entries())
      expect(Number(polled)).toBeLessThanOrEqual(Number(first.polled[n]));
    copiesAnswer(false);
    const last = await read();
    for (const [n, complete] of last.complete.entries())
      expect(Number(complete)).toBeGreaterThan(Number(first.complete[n]));
  });
});

describe('what a copy shows that is older than what is known', () => {
  it.each(['on', 'off'])('is not mirrored: MIRROR_HISTORY=%s', async (history) => {
    test = await createTestAccount({}, systemClock, { MIRROR_HISTORY: history, MIRROR_SETTLE: '1s' });
    const { control } = test.sandbox;
    const rows = await control.truth({ collection: 'watchlist' });
    const [gone = '', changed = ''] = rows.map((row) => /"id":"?([^",]+)/.exec(row)?.[1] ?? '');
    await control.mutate({ op: 'delete', collection: 'watchlist', id: gone });
    await control.mutate({ op: 'update', collection: 'watchlist', id: changed, fields: { score: 0.125 } });
    const mirrored = (): Promise<unknown[]> =>
      test.query(`select id::text, score from mirror.watchlist where _deleted_at is null order by id`);
    await test.read('watchlist', 'full');
    const before = await mirrored();
    copiesAnswer(true);
    for (const what of ['full', 'current', 'full'] as const) await test.read('watchlist', what);
    expect(await mirrored()).toEqual(before);
    // The service says that the one is there again, and the other as it was.
    copiesAnswer(false);
    await control.mutate({ op: 'restore', collection: 'watchlist', id: gone });
    expect((await test.read('watchlist', 'full')).error).toBeUndefined();
    expect(await mirrored()).toHaveLength(before.length + 1);
  });
});

describe('what is gone', () => {
  it('is deleted by two answers of the service itself, whose dates are the grace period apart', async () => {
    await withNewRow({});
    await test.sandbox.control.mutate({ op: 'delete', collection: 'watchlist', id: NEW });
    expect((await test.read('watchlist', 'full')).error).toBeUndefined();
    expect(await live('watchlist', 'id')).toBe(false);
  });
});
