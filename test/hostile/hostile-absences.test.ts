import { afterEach, expect, it } from 'vitest';
import { COLLECTION_NAMES } from '../../src/model/collections.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { createTestAccount, type TestAccount } from '../support/sync/read-account.ts';
import { hostileDifferences } from './hostile-truth.ts';

const GRACE_PERIOD_MS = 1_000;

let account: TestAccount;
afterEach(() => account.close());

it('a list that is deleted, answers empty, and whose row is still mirrored loses its rows with a second answer, the grace period after the first; they come back with it', async () => {
  account = await createTestAccount({ deletedList: 'empty' }, systemClock, {
    MIRROR_SETTLE: `${GRACE_PERIOD_MS / 1000}s`,
  });
  const { control, userId } = account.sandbox;
  await control.clock({ freeze: true });
  for (const name of COLLECTION_NAMES) expect((await account.read(name, 'full')).error).toBeUndefined();
  const [list = ''] = await control.truth({ collection: 'lists' });
  const id = String((JSON.parse(list) as { list_id: number }).list_id);
  // Old enough for the first answer to be a proof.
  await account.query(`update mirror.list_items set _changed_at = clock_timestamp() - interval '1 hour'`);
  const live = async (): Promise<number> => {
    const [row] = await account.query<{ items: number }>(
      `select count(*)::int as items from mirror.list_items where list_id = ${id} and _deleted_at is null`,
    );
    return row?.items ?? 0;
  };
  const items = await live();
  await control.mutate({ op: 'delete', collection: 'lists', id });
  const asked: { readonly at: number; readonly live: number }[] = [];
  account.onRequest = async (path) => {
    if (path.startsWith(`/v1/lists/${id}`)) asked.push({ at: Date.now(), live: await live() });
  };
  expect((await account.read('list_items', 'full')).totals.deleted).toBe(items);
  // Whenever it was asked all rows were there yet.
  expect(asked.map((each) => each.live)).toEqual(asked.map(() => items));
  expect(asked.length).toBeGreaterThanOrEqual(2);
  expect((asked.at(-1)?.at ?? 0) - (asked[0]?.at ?? 0)).toBeGreaterThanOrEqual(GRACE_PERIOD_MS);
  await control.mutate({ op: 'restore', collection: 'lists', id });
  await account.read('list_items', 'full');
  expect(await hostileDifferences(account, userId)).toEqual([]);
});
