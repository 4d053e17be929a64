import { afterEach, describe, expect, it } from 'vitest';
import { type CollectionPass, passOver, type PassProgress, sumUp } from '../../../src/account/pass.ts';
import { COLLECTION_NAMES, type CollectionName } from '../../../src/model/collections.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { createMetrics } from '../../../src/status/metrics.ts';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';

const GRACE_PERIOD_MS = 1_000;
const metrics = createMetrics('test');
const progress = new Map<string, PassProgress>();

let test: TestAccount;
afterEach(() => test.close());

/** Eight lists of ten items, mirrored; then one of the lists is gone, and one item of another. */
async function withGoneList(): Promise<void> {
  test = await createTestAccount({ lists: 8 }, systemClock, { MIRROR_SETTLE: `${GRACE_PERIOD_MS / 1000}s` });
  const { control } = test.sandbox;
  await control.clock({ freeze: true });
  for (const name of ['lists', 'list_items'] as const) await test.read(name, 'full');
  await systemClock.sleep(GRACE_PERIOD_MS + 100);
  const [gone, other] = await test.query<{ list: string; id: string }>(
    'select list_id::text as list, min(id::text) as id from mirror.list_items group by 1 order by 1',
  );
  await control.mutate(
    { op: 'delete', collection: 'lists', id: gone?.list ?? '' },
    { op: 'delete', collection: 'list_items', list: other?.list ?? '', id: other?.id ?? '' },
  );
  progress.clear();
  test.observers.push(
    metrics,
    sumUp((each) => progress.set(each.collection, each)),
  );
}

const fullPass = (...collections: CollectionName[]): Promise<CollectionPass[]> =>
  passOver(test.current.reader, {
    collections,
    full: true,
    acceptDeletions: false,
    signal: new AbortController().signal,
    clock: systemClock,
  });

/** Deleted list items, as the metrics count them. */
async function counted(): Promise<number> {
  const line = /^research_mirror_rows_total\{collection="list_items",op="delete"\} (\d+)/m;
  return Number(line.exec(await metrics.render(undefined, true))?.[1] ?? 0);
}

describe('items that go with their list', () => {
  it('count as deleted in their collection: in the pass, in its progress and in the metrics', async () => {
    await withGoneList();
    const before = await counted();
    const passes = await fullPass(...COLLECTION_NAMES);
    const deleted = Object.fromEntries(passes.map((pass) => [pass.collection, pass.deleted]));
    expect(deleted).toMatchObject({ lists: 1, list_items: 11, research_jobs: 0 });
    expect(progress.get('list_items')).toMatchObject({ deleted: 11 });
    expect(progress.get('lists')).toMatchObject({ deleted: 1 });
    expect((await counted()) - before).toBe(11);
    expect(await test.query('select from mirror.list_items where _deleted_at is not null')).toHaveLength(11);
    expect(Object.keys(JSON.parse(JSON.stringify(passes[0])) as object)).not.toContain('along');
  });

  it('are reported also if their collection was not requested', async () => {
    await withGoneList();
    const before = await counted();
    expect(await fullPass('lists')).toMatchObject([
      { collection: 'lists', deleted: 1, liveRows: 7, error: null },
      { collection: 'list_items', deleted: 10, items: 0, requests: 0, liveRows: 70, error: null },
    ]);
    expect((await counted()) - before).toBe(10);
  });
});
