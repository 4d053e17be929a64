import { afterEach, expect, it } from 'vitest';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

it('what was read before a proof was asked for is true with it, whatever is read while it is under way', async () => {
  account = await createTestAccount({}, undefined, { MIRROR_SETTLE: '1s' });
  const { source } = account.current;
  const waiting = { signal: new AbortController().signal };
  await account.sandbox.control.clock({ freeze: true });
  await account.read('watchlist', 'full');

  const began = Date.now();
  // One page is the whole list.
  await account.read('watchlist', 'poll');
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  account.onRequest = async (path) => {
    if (path !== '/v1/ping') return;
    asked.resolve();
    await answered.promise;
  };
  const proof = source.proveAll(waiting);
  await asked.promise;
  await account.read('watchlist', 'poll');
  answered.resolve();
  expect(await proof).toBe(true);
  const complete = async (): Promise<number> => {
    const [row] = await account.query<{ at: Date }>(
      `select complete_as_of as at from mirror.freshness where collection = 'watchlist'`,
    );
    return row?.at.getTime() ?? 0;
  };
  const first = await complete();
  expect(first).toBeGreaterThanOrEqual(began - 1000);

  await account.read('watchlist', 'poll');
  expect(await source.proveAll(waiting)).toBe(true);
  expect(await complete()).toBeGreaterThan(first);
});
