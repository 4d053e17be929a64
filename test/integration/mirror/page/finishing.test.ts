import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const newAccount = testAccounts();
let lastJob = 0;

/** Jobs that are open when they come, and then change to `state`, each after so many minutes. */
async function jobs(
  account: MirroredAccount,
  minutes: readonly number[],
  { from = 'processing', to = 'completed', readAfter = Number.POSITIVE_INFINITY } = {},
): Promise<void> {
  const all = minutes.map((took) => ({ id: (lastJob += 1), took }));
  const inState = (status: string): string => JSON.stringify(all.map(({ id }) => ({ job_id: id, status })));
  await account.page('research_jobs', inState(from));
  for (const { id, took } of all) {
    await sql`update mirror_sync.unsettled set since = ${new Date(Date.now() - took * MINUTE)}
      where _user_id = ${account.fence.userId} and key = ${String(id)}`.execute(account.database.kysely);
  }
  // When the scope was last read: just now, or so many minutes after they had begun.
  const ago = Math.max(0, Math.max(...minutes) - readAfter);
  await sql`update mirror_sync.scope set last_read_at = ${new Date(Date.now() - ago * MINUTE)}
    where _user_id = ${account.fence.userId}`.execute(account.database.kysely);
  await account.page('research_jobs', inState(to));
}

async function finishes(account: MirroredAccount): Promise<number> {
  return ((await account.storedScope('research_jobs')).finishMs ?? Number.NaN) / MINUTE;
}

function times(count: number, minutes: number): number[] {
  return Array.from({ length: count }, () => minutes);
}

describe('within what time nearly all jobs of an account finish', () => {
  it('is not known before one was seen to', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[{"job_id":1,"status":"queued"},{"job_id":2,"status":"completed"}]');
    expect(await finishes(account)).toBeNaN();
    await account.page('research_jobs', '[{"job_id":2,"status":"completed","score":1}]');
    expect(await finishes(account)).toBeNaN();
  });

  it('falls from half an hour to what they take, a little with each, and no further', async () => {
    const account = await newAccount();
    await jobs(account, [2]);
    expect(await finishes(account)).toBeCloseTo(30 * Math.exp(-0.01), 1);
    for (let page = 0; page < 6; page += 1) await jobs(account, times(50, 2));
    expect(await finishes(account)).toBeCloseTo(2, 1);
    await jobs(account, times(200, 0.1));
    expect(await finishes(account)).toBeCloseTo(1, 1);
  });

  it('rises at once to what some take longer, and to half a day at most', async () => {
    const account = await newAccount();
    await jobs(account, times(3, 120));
    expect(await finishes(account)).toBeCloseTo(120, 0);
    await jobs(account, times(5, 60 * 24 * 3));
    expect((await finishes(account)) * MINUTE).toBe(12 * HOUR);
  });

  it('reaches those that two of a hundred take, and leaves out what one of a thousand does', async () => {
    const often = await newAccount();
    const seldom = await newAccount();
    for (let page = 0; page < 12; page += 1) {
      await jobs(often, [...times(98, 1.5), 100, 100]);
      await jobs(seldom, [...times(99, 1.5), ...(page === 0 ? [100] : [1.5])]);
    }
    expect(await finishes(often)).toBeGreaterThan(50);
    expect(await finishes(seldom)).toBeCloseTo(1.5, 1);
  });

  it('counts no time in which nobody looked', async () => {
    const account = await newAccount();
    for (let page = 0; page < 6; page += 1) await jobs(account, times(60, 8 * 60), { readAfter: 3 });
    expect(await finishes(account)).toBeCloseTo(3, 0);
  });

  it('takes a failure for an end, and what comes of it later for none', async () => {
    const account = await newAccount();
    await jobs(account, [20], { to: 'failed' });
    const learnt = await finishes(account);
    expect(learnt).toBeCloseTo(30 * Math.exp(-0.01), 1);
    await jobs(account, [600], { from: 'failed' });
    expect(await finishes(account)).toBe(learnt);
  });
});
