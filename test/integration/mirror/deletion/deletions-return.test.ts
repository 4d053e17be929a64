import { describe, expect, it } from 'vitest';
import type { MirrorOptions } from '../../../../src/mirror/mirror.ts';
import { deleteAllBut, falling, jobs, liveJobs, SNAPSHOT } from '../../../support/mirror/deleting.ts';
import { changeId, type MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

const job = (status: string): string => `[{"job_id":1,"status":"${status}"}]`;

const history = (account: MirroredAccount): Promise<readonly string[]> =>
  account.rowsOf('status, _op, _change_id', 'mirror.research_jobs_history', 'order by _valid_to, _change_id');

const current = (account: MirroredAccount): Promise<readonly string[]> =>
  account.rowsOf('status, _deleted_at is null as live, _change_id', 'mirror.research_jobs');

const outcomesOf = async (account: MirroredAccount, items: string, sentAgo = 0): Promise<unknown> => {
  const result = await account.observe('research_jobs', items, { sentAgo });
  return result.state === 'applied' ? result.outcomes : result;
};

it.each([
  ['soft', 'undeleted'],
  ['hard', 'inserted'],
] as const)(
  'a deleted row that is seen too soon is a suspected return until a page is sent the grace period after its deletion (%s)',
  async (deletes, back) => {
    const account = await newAccount({ deletes });
    await account.observe('research_jobs', job('a'));
    await deleteAllBut(account, 'research_jobs', '[]');
    expect(await outcomesOf(account, job('a'))).toEqual(['deferred']);
    expect(await account.suspects('research_jobs')).toMatchObject([{ key: '1', kind: 'returned' }]);
    await account.age(account.gracePeriodMs - 20_000);
    expect(await outcomesOf(account, job('a'))).toEqual(['deferred']);
    await account.age(20_000);
    expect(await outcomesOf(account, job('a'), 15_000)).toEqual(['deferred']);
    expect(await current(account)).toEqual(deletes === 'soft' ? [`a false ${changeId(2)}`] : []);
    expect(await outcomesOf(account, job('a'))).toEqual([back]);
    expect(await account.suspects('research_jobs')).toEqual([]);
  },
);

describe('a deleted row that a stale page showed', () => {
  const staleSighting = async (options: Partial<MirrorOptions> = {}): Promise<MirroredAccount> => {
    const account = await newAccount(options);
    await account.observe('research_jobs', jobs(1, 5));
    await deleteAllBut(account, 'research_jobs', jobs(5));
    await account.observe('research_jobs', jobs(1));
    return account;
  };

  it.each(['soft', 'hard'] as const)(
    'is no suspected return any more once a page proves it absent (%s)',
    async (deletes) => {
      const account = await staleSighting({ deletes });
      await account.observe('research_jobs', jobs(5));
      await account.observe('research_jobs', jobs(5), { proof: falling(9, 5) });
      expect(await account.suspects('research_jobs')).toMatchObject([{ key: '1', kind: 'returned' }]);
      await account.observe('research_jobs', jobs(5), { proof: falling(5, 1) });
      expect(await account.suspects('research_jobs')).toEqual([]);
    },
  );

  it('is a suspected return for at most ten grace periods unless a page shows it again', async () => {
    const account = await staleSighting();
    for (const [periods, left] of [
      [9, 1],
      [1, 0],
    ] as const) {
      await account.age(periods * account.gracePeriodMs);
      await account.applyDeletions('research_jobs');
      expect(await account.suspects('research_jobs')).toHaveLength(left);
    }
    expect(await liveJobs(account)).toEqual([5]);
  });
});

describe('a row with the content of a superseded version', () => {
  const completed = async (): Promise<MirroredAccount> => {
    const account = await newAccount();
    for (const status of ['running', 'completed']) await account.observe('research_jobs', job(status));
    return account;
  };

  it('is not written while the page may be stale', async () => {
    const account = await completed();
    expect(await outcomesOf(account, job('running'))).toEqual(['deferred']);
    expect(await current(account)).toEqual([`completed true ${changeId(2)}`]);
    expect(await history(account)).toEqual([`running update ${changeId(1)}`]);
    expect(await outcomesOf(account, job('completed'))).toEqual(['unchanged']);
    expect(await account.suspects('research_jobs')).toEqual([]);
  });

  it('is written when it is seen later, or when its content is new', async () => {
    const account = await completed();
    expect(await outcomesOf(account, job('sent back'))).toEqual(['updated']);
    await account.age(account.gracePeriodMs);
    expect(await outcomesOf(account, job('completed'))).toEqual(['updated']);
    const statuses = ['running', 'completed', 'sent back'];
    const versions = statuses.map((each, index) => `${each} update ${changeId(index + 1)}`);
    expect(await history(account)).toEqual(versions);
  });

  it('is written if the version was another row’s or another list’s', async () => {
    const account = await newAccount();
    await account.observe('lists', '[{"list_id":1},{"list_id":2}]');
    await account.observe('list_items', '[{"id":"x","n":1}]', { parent: '1' });
    for (const parent of ['1', '2']) await account.observe('list_items', '[{"id":"x","n":2}]', { parent });
    const other = await account.observe('list_items', '[{"id":"x","n":1}]', { parent: '2' });
    expect(other).toMatchObject({ outcomes: ['updated'] });
  });
});

it('rows whose last change is in the future, since the database’s clock went back, are treated like others', async () => {
  const HOUR = 3_600_000;
  const account = await newAccount();
  const two = (status: string): string => `[{"job_id":1,"status":"${status}"},{"job_id":2}]`;
  for (const status of ['a', 'b']) await account.observe('research_jobs', two(status));
  await account.age(-HOUR);
  expect(await outcomesOf(account, two('a'))).toEqual(['updated', 'unchanged']);
  await account.age(-HOUR);
  await account.observe('research_jobs', jobs(1), { proof: SNAPSHOT });
  expect(await account.suspects('research_jobs')).toMatchObject([{ key: '2', kind: 'snapshot' }]);
  await deleteAllBut(account, 'research_jobs', jobs(1));
  await account.age(-HOUR);
  expect(await outcomesOf(account, '[{"job_id":1},{"job_id":2}]')).toEqual(['unchanged', 'undeleted']);
});
