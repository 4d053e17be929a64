import { afterEach, describe, expect, it } from 'vitest';
import { SANDBOX_SWITCHES, type SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { systemClock } from '@research-mirror/runtime/clock';
import { createTestAccount, type TestAccount } from '../support/sync/read-account.ts';

// A cache between the mirror and the service that answers with copies, whatever it is asked for.

const NEW = '990001';
const NAMES = ['research_jobs', 'watchlist'] as const;

let test: TestAccount;
afterEach(() => test.close());

async function readWell(...names: readonly (typeof NAMES)[number][]): Promise<void> {
  for (const name of names) expect((await test.read(name, 'full')).error).toBeUndefined();
}

/** Mirrored, with a row that the cache's copies, of the sandbox's start, do not have; older than the grace period. */
async function withNewRow(switches: Partial<SandboxOptions>): Promise<void> {
  // Long ago: what is there stands still, and was there when the sandbox started.
  const epoch = '2020-01-01T00:00:00Z';
  test = await createTestAccount({ epoch, ...switches }, systemClock, { MIRROR_SETTLE: '1s' });
  const insert = { op: 'insert', id: NEW, fields: { status: 'completed', score: 1 } } as const;
  await test.sandbox.control.mutate(...NAMES.map((collection) => ({ ...insert, collection })));
  await readWell(...NAMES);
  for (const name of NAMES) {
    await test.query(
      `update mirror.${name} set _changed_at = _changed_at - interval '1 minute',
         _first_seen_at = _first_seen_at - interval '1 minute'`,
    );
    await test.query(`update mirror.${name}_history set _valid_to = _valid_to - interval '1 minute'`);
  }
}

/** Collections in which the new row is live. */
async function live(): Promise<string[]> {
  const rows = await test.query<{ name: string }>(
    `select 'research_jobs' as name from mirror.research_jobs where job_id = ${NEW} and _deleted_at is null
     union all select 'watchlist' from mirror.watchlist where id::text = '${NEW}' and _deleted_at is null`,
  );
  return rows.map(({ name }) => name);
}

const freshness = () =>
  test.query<{ polled: Date; complete: Date }>(
    `select polled_at as polled, complete_as_of as complete from mirror.freshness
     where collection in ('research_jobs', 'watchlist') order by collection`,
  );

/** Lists are answered from the cache from now on, or by the service; whose key it is always by the service. */
function copiesAnswer(answer: boolean): void {
  test.onRequest = async (path) => {
    await test.sandbox.control.change({ faultCached: answer && !path.startsWith('/v1/ping') ? 1 : 0 });
  };
}

describe.each(SANDBOX_SWITCHES.cacheTells.choices ?? [])('a cache that tells of itself by %s', (tells) => {
  it.each(['falling', 'unordered'] as const)('is no second proof: order %s', async (order) => {
    await withNewRow({ order, cacheTells: tells as SandboxOptions['cacheTells'] });
    const before = await freshness();
    await test.sandbox.control.change({ faultCached: 1 });
    // A snapshot, and many pages; twice, as on two days.
    for (const name of [...NAMES, ...NAMES]) await test.read(name, 'full');
    expect(await live()).toEqual(NAMES);
    if (tells !== 'date') expect((await freshness())[1]?.complete).toEqual(before[1]?.complete);
    // The service answers again, and says what is there.
    await test.sandbox.control.change({ faultCached: 0 });
    for (const name of NAMES) await test.read(name, 'full');
    expect(await test.query(`select 1 from mirror.data_quality where waiting_deletions > 0`)).toEqual([]);
    expect(await live()).toEqual(NAMES);
  });
});

it.each(['falling', 'unordered'] as const)(
  'a copy that says nothing new is told for no later than it is: order %s',
  async (order) => {
    test = await createTestAccount({ order });
    await readWell(...NAMES);
    const first = await freshness();
    copiesAnswer(true);
    await readWell(...NAMES);
    for (const [n, { polled, complete }] of (await freshness()).entries()) {
      expect(complete).toEqual(first[n]?.complete);
      expect(Number(polled)).toBeLessThanOrEqual(Number(first[n]?.polled));
    }
    copiesAnswer(false);
    await readWell(...NAMES);
    for (const [n, { complete }] of (await freshness()).entries())
      expect(Number(complete)).toBeGreaterThan(Number(first[n]?.complete));
  },
);

it.each(['on', 'off'])('an older state that a copy shows is not mirrored: MIRROR_HISTORY=%s', async (history) => {
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
  await readWell('watchlist');
  expect(await mirrored()).toHaveLength(before.length + 1);
});

it('what is gone is deleted by two answers of the service itself, whose dates are the grace period apart', async () => {
  await withNewRow({});
  await test.sandbox.control.mutate({ op: 'delete', collection: 'watchlist', id: NEW });
  await readWell('watchlist');
  expect(await live()).toEqual(['research_jobs']);
});
