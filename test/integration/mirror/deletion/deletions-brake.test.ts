import { describe, expect, it } from 'vitest';
import { deleteAllBut, itemsWith, jobs, proveAbsent, SNAPSHOT } from '../../../support/mirror/deleting.ts';
import type { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

async function withJobs(count: number): Promise<MirroredAccount> {
  const account = await newAccount();
  await account.observe('research_jobs', jobs(...upTo(count)));
  return account;
}

const quality = (account: MirroredAccount, name = 'research_jobs'): Promise<unknown[]> =>
  account.query(`
    select held_deletions as blocked, waiting_deletions as waiting from mirror.data_quality
    where _user_id = ${account.fence.userId} and collection = '${name}'`);

describe('the brake', () => {
  it('counts rows that still wait for their second proof', async () => {
    const account = await withJobs(60);
    await account.age(account.gracePeriodMs);
    await account.observe('research_jobs', jobs(...upTo(55)), { proof: SNAPSHOT });
    await account.age(account.gracePeriodMs);
    await account.observe('research_jobs', jobs(...upTo(47)), { proof: SNAPSHOT });
    expect(await account.applyDeletions('research_jobs')).toMatchObject({
      deleted: 0,
      blocked: 5,
    });
    expect(await quality(account)).toEqual([{ blocked: '5', waiting: '8' }]);
  });

  it('does not count suspected returns', async () => {
    const account = await withJobs(30);
    await deleteAllBut(account, 'research_jobs', jobs(...upTo(25)));
    // Five rows return too soon after their deletion.
    await account.observe('research_jobs', jobs(...upTo(30)));
    expect(await account.suspects('research_jobs')).toHaveLength(5);
    expect(await quality(account)).toEqual([{ blocked: '0', waiting: '5' }]);
    await proveAbsent(account, 'research_jobs', jobs(...upTo(24)));
    expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 1, blocked: 0 });
  });

  it('counts list items of all the account’s lists', async () => {
    const account = await newAccount();
    await account.observe('lists', itemsWith('list_id', [1, 2, 3]));
    for (const parent of ['1', '2', '3']) {
      await account.observe('list_items', itemsWith('id', upTo(20)), { parent });
    }
    // 9 of 20 are a large share of one list and a small one of all three; 9 more are too many.
    const left = itemsWith('id', upTo(11));
    expect(await deleteAllBut(account, 'list_items', left, { parent: '1' })).toMatchObject({ deleted: 9 });
    expect(await deleteAllBut(account, 'list_items', left, { parent: '2' })).toMatchObject({ blocked: 9 });
    expect(await quality(account, 'list_items')).toEqual([{ blocked: '9', waiting: '0' }]);
  });

  it('counts suspected items once if their list is suspected, too', async () => {
    const account = await newAccount();
    await account.observe('lists', itemsWith('list_id', [1, 2]));
    await account.observe('list_items', itemsWith('id', upTo(12)), { parent: '1' });
    await account.observe('list_items', itemsWith('id', upTo(88)), { parent: '2' });
    await account.age(account.gracePeriodMs);
    await account.observe('list_items', '[]', { parent: '1', proof: SNAPSHOT });
    // 12 of 100 items, not 24.
    expect(await deleteAllBut(account, 'lists', itemsWith('list_id', [2]))).toMatchObject({
      deleted: 1,
      blocked: 0,
    });
  });

  it('judges each account by itself', async () => {
    const large = await withJobs(1_000);
    const small = await withJobs(20);
    expect(await deleteAllBut(small, 'research_jobs', jobs(1))).toMatchObject({ blocked: 19 });
    expect(await deleteAllBut(large, 'research_jobs', jobs(...upTo(900)))).toMatchObject({ deleted: 100 });
  });
});
