import { describe, expect, it } from 'vitest';
import {
  falling,
  itemsWith,
  jobs,
  suspectKeys,
  liveJobs,
  proveAbsent,
  oldJobs,
  SNAPSHOT,
} from '../../../support/mirror/deleting.ts';
import { changeId } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();
const withJobs = oldJobs(newAccount);

describe('a row that the service does not have any more', () => {
  it('is deleted by two proofs, the grace period apart', async () => {
    const account = await withJobs(1, 2, 3);
    await account.observe('research_jobs', jobs(1, 3), { proof: SNAPSHOT });
    expect(await account.suspects('research_jobs')).toMatchObject([
      { key: '2', kind: 'snapshot', proven: false },
    ]);
    const nothing = { deleted: 0, along: new Map(), blocked: 0, changed: [] };
    expect(await account.applyDeletions('research_jobs')).toEqual(nothing);
    await account.age(account.gracePeriodMs);
    await account.observe('research_jobs', jobs(1, 3), { proof: SNAPSHOT });
    expect(await account.suspects('research_jobs')).toMatchObject([{ key: '2', proven: true }]);
    expect(await account.applyDeletions('research_jobs')).toEqual({
      deleted: 1,
      along: new Map(),
      blocked: 0,
      changed: [{ table: 'research_jobs', userId: account.fence.userId, changeId: changeId(4) }],
    });
    const rows = await account.query(`
      select job_id, _deleted_at is not null as deleted, _deleted_at = _changed_at as moved, _change_id
      from mirror.research_jobs where _user_id = ${account.fence.userId} order by job_id`);
    expect(rows).toEqual([
      { job_id: '1', deleted: false, moved: null, _change_id: changeId(1) },
      { job_id: '2', deleted: true, moved: true, _change_id: changeId(4) },
      { job_id: '3', deleted: false, moved: null, _change_id: changeId(3) },
    ]);
    expect(await account.suspects('research_jobs')).toEqual([]);
  });

  it('is deleted with what was stored of it among unfinished rows and in quarantine', async () => {
    const account = await newAccount();
    await account.observe('research_jobs', '[{"job_id":1,"status":"open"},{"job_id":2,"status":"open"}]');
    await account.observe('research_jobs', '[{"job_id":1,"status":"open","n":1e200000}]');
    await proveAbsent(account, 'research_jobs', jobs(2));
    await account.applyDeletions('research_jobs');
    const user = account.fence.userId;
    expect(await account.query(`select key from mirror_sync.unsettled where _user_id = ${user}`)).toEqual([]);
    expect(await account.query(`select key from mirror.quarantine where _user_id = ${user}`)).toEqual([]);
  });

  it('is deleted in one of several transactions where there are many, and none is left out', async () => {
    const account = await newAccount();
    const ids = Array.from({ length: 2_500 }, (_, id) => id);
    await account.observe('research_jobs', jobs(...ids));
    await proveAbsent(account, 'research_jobs', jobs(0));
    expect(await account.applyDeletions('research_jobs', { accept: true })).toMatchObject({
      deleted: 2_499,
      changed: [{ changeId: changeId(4999) }],
    });
    expect(await liveJobs(account)).toEqual([0]);
    const log = await account.query<{ deleted: string }>(
      `select deleted from mirror.sync_log where _user_id = ${account.fence.userId} order by walk_id`,
    );
    expect(log.map(({ deleted }) => deleted)).toEqual(['2000', '499']);
  });
});

describe('an interval', () => {
  it.each([
    ['from the top to an item', falling(null, 7), ['8', '9']],
    ['between two items, the second one included', falling(8, 4), ['4', '6', '7']],
    ['to the end', falling(3, null), ['1', '2']],
    ['of rising order', { ...falling(4, 8), direction: 'rising' as const }, ['6', '7', '8']],
    ['of rising order, from the top', { ...falling(null, 3), direction: 'rising' as const }, ['1', '2', '3']],
    ['in which there is nothing', falling(6, 6), []],
  ])('%s covers exactly the rows inside', async (_, proof, missing) => {
    const account = await withJobs(1, 2, 3, 4, 5, 6, 7, 8, 9);
    await account.observe('research_jobs', proof.through === '7' ? jobs(7) : jobs(5), { proof });
    expect(await suspectKeys(account)).toEqual(missing);
  });

  it('of text keys follows their order: shorter first, then bytewise', async () => {
    const account = await newAccount();
    await account.observe('watchlist', itemsWith('id', ['9', '10', 'a', 'é', 'Z', 'aa', 'ab', 'b']));
    await account.age(account.gracePeriodMs);
    await account.observe('watchlist', itemsWith('id', ['aa']), {
      proof: { kind: 'interval', direction: 'rising', after: 'a', through: 'aa' },
    });
    const keys = (await account.suspects('watchlist')).map(({ key }) => key);
    expect(keys).toEqual(['10', 'b']);
  });
});
