import { afterEach, describe, expect, it } from 'vitest';
import { openAccount } from '../../../src/account/account.ts';
import { takeAccount } from '../../../src/postgres/lease.ts';
import { COLLECTION_NAMES } from '../../../src/model/collections.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';
import { createTestProcess } from '../../support/processes/test-process.ts';

const HOUR = 3_600_000;
let account: TestAccount;
afterEach(() => account.close());

describe('a machine whose clock is wrong', () => {
  it.each([
    ['ahead', 5 * HOUR],
    ['behind', -5 * HOUR],
  ])('stores all times by the database’s clock: %s', async (_, off) => {
    account = await createTestAccount();
    const { database, config, sandbox } = account;
    await account.current.close();
    const clock = { ...systemClock, now: () => Date.now() + off };
    const running = await createTestProcess(account, clock);
    await running.heartbeat.start();
    const { processId, identity } = running.context;
    const taken = await takeAccount(database.db, String(sandbox.userId), processId, identity);
    if (taken.state !== 'taken') throw new Error('the account is not free');
    // As processes that take accounts do: a heartbeat would give up an account without known work.
    running.context.owned.add(taken.fence);
    const opened = await openAccount(running.context, taken.fence, config.service.keys);
    const { signal } = new AbortController();
    for (const name of COLLECTION_NAMES) {
      for (const what of ['rows', 'poll'] as const) {
        expect((await opened.reader.read(name, { what, signal })).error).toBeUndefined();
      }
    }
    await opened.close();
    await running.heartbeat.stop();
    await running.close();
    const moments = await account.query<{ of: string; seconds: number }>(`
      select of, extract(epoch from clock_timestamp() - at)::float8 as seconds from (
        select 'polled_at of ' || collection as of, polled_at as at from mirror.freshness
        union all select 'last_read_at of ' || collection, last_read_at from mirror_sync.scope
        union all select 'full_at of ' || collection, full_at from mirror_sync.scope
        union all select 'started_at of ' || collection, started_at from mirror.sync_log
      ) as told`);
    expect(moments.length).toBeGreaterThan(20);
    expect(moments.filter(({ seconds }) => seconds === null)).toEqual([]);
    // Late by the time that the test took, never early.
    expect(moments.filter(({ seconds }) => seconds < 0 || seconds > HOUR / 1000)).toEqual([]);
  });
});
