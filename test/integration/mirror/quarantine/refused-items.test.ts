import { describe, expect, it } from 'vitest';
import { openTestDatabase } from '../../../support/databases/migrated-database.ts';
import { MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';
import { startProxy } from '../../../support/network/proxy.ts';

// Items that a DBA's constraints and triggers refuse are quarantined one by one; the rest of the page is written.

const makeAccount = testAccounts();

const job = (id: number, note: string): string => `{"job_id":${id},"note":"${note}"}`;
const page = (...jobs: readonly string[]): string => `[${jobs.join()}]`;

/** Runs the work with a trigger that does this to the account's rows whose note is `bad`. */
async function withTrigger(
  account: MirroredAccount,
  body: string,
  when: 'before' | 'at commit',
  work: () => Promise<void>,
): Promise<void> {
  const [kind, timing, late] =
    when === 'before' ? ['', 'before', ''] : ['constraint', 'after', 'deferrable initially deferred'];
  await account.query(`
    create function public.theirs() returns trigger language plpgsql as $$ begin
      if new._user_id = ${account.fence.userId} and new._raw ->> 'note' = 'bad' then ${body}; end if;
      return new; end $$;
    create ${kind} trigger theirs ${timing} insert or update on mirror.research_jobs ${late}
    for each row execute function public.theirs()`);
  try {
    await work();
  } finally {
    await account.query('drop function public.theirs() cascade');
  }
}

async function stored(account: MirroredAccount): Promise<unknown> {
  const where = `where _user_id = ${account.fence.userId}`;
  const [row] = await account.query(`
    select (select array_agg(job_id || ' ' || (_raw ->> 'note') order by job_id) from mirror.research_jobs ${where}) as rows,
      (select array_agg(key order by key::int) from mirror.quarantine ${where}) as apart,
      (select count(*)::int from mirror.research_jobs_history ${where}) as versions`);
  return row;
}

describe('an item that Postgres refuses', () => {
  it.each([
    ['by a trigger that raises', 'before', `raise exception 'not here'`, 'not here (P0001)'],
    ['by an error of its own making', 'before', `raise 'no' using errcode = 'ZX001'`, 'no (ZX001)'],
    ['by an assertion', 'before', `assert false, 'no'`, 'no (P0004)'],
    ['by a trigger that lacks a table', 'before', 'perform from public.nowhere', '(42P01)'],
    ['by a trigger that lacks a column', 'before', 'perform nothing from mirror.lists', '(42703)'],
    ['by an internal error', 'before', `raise 'no' using errcode = 'XX000'`, '(XX000)'],
    ['by a trigger that leaves it out', 'before', 'return null', 'it wrote no row and gave no reason'],
    ['at the end of the transaction', 'at commit', `raise 'late'`, 'late (P0001)'],
  ] as const)('%s is quarantined alone, new or changed', async (_, when, body, reason) => {
    const account = await makeAccount();
    const ids = Array.from({ length: 12 }, (_each, index) => index + 1);
    await account.page('research_jobs', page(...ids.slice(0, 6).map((id) => job(id, 'first'))));
    const bad = new Set([2, 5, 9, 12]);
    const changed = page(...ids.map((id) => job(id, bad.has(id) ? 'bad' : 'good')));
    await withTrigger(account, body, when, async () => {
      const first = ids.map((id) => (bad.has(id) ? 'quarantined' : id <= 6 ? 'updated' : 'inserted'));
      expect(await account.page('research_jobs', changed)).toMatchObject({ outcomes: first });
      // The versions are of the four changed rows.
      expect(await stored(account)).toEqual({
        rows: ['1 good', '2 first', '3 good', '4 good', '5 first', ...[6, 7, 8, 10, 11].map((id) => `${id} good`)],
        apart: ['2', '5', '9', '12'],
        versions: 4,
      });
      // Only these are left to write.
      const second = ids.map((id) => (bad.has(id) ? 'quarantined' : 'unchanged'));
      expect(await account.page('research_jobs', changed)).toMatchObject({ outcomes: second });
    });
    const reasons = await account.rowsOf('distinct reason', 'mirror.quarantine');
    expect(reasons).toEqual([expect.stringContaining(reason)]);
    // The reason is gone: the next page writes them.
    await account.page('research_jobs', changed);
    expect(await stored(account)).toMatchObject({ apart: null, versions: 6 });
  });

  it('is quarantined alone if a deferrable constraint refuses it beside another one', async () => {
    const account = await makeAccount();
    const { userId } = account.fence;
    await account.query(`alter table mirror.research_jobs add constraint theirs
       exclude (_user_id with =, status with =) where (_user_id = ${userId}) deferrable initially deferred`);
    const statuses = ['a', 'b', 'c', 'a', 'd', 'b', 'e', 'a'];
    const jobs = statuses.map((status, index) => `{"job_id":${index + 1},"status":"${status}"}`);
    expect(await account.page('research_jobs', page(...jobs))).toMatchObject({
      counts: { inserted: 5, quarantined: 3 },
    });
    expect(await stored(account)).toMatchObject({ apart: ['4', '6', '8'] });
    await account.query('alter table mirror.research_jobs drop constraint theirs');
  });

  it('may be alone on its page', async () => {
    const account = await makeAccount();
    await withTrigger(account, `raise 'no'`, 'at commit', async () => {
      const alone = await account.page('research_jobs', page(job(1, 'bad')));
      expect(alone).toMatchObject({ outcomes: ['quarantined'], changed: undefined });
    });
  });

  it('stops the page if the table refuses all: nothing of it is written', async () => {
    const account = await makeAccount();
    await withTrigger(account, 'perform from public.nowhere', 'before', async () => {
      for (const bad of [[1], [1, 2, 3, 4, 5]]) {
        const all = page(...bad.map((id) => job(id, 'bad')));
        await expect(account.page('research_jobs', all)).rejects.toThrow(/42P01/);
      }
      expect(await stored(account)).toEqual({ rows: null, apart: null, versions: 0 });
    });
  });

  it('does not stop its page if it is only to be rehashed by another rule', async () => {
    const other = (id: number, note: string): string => `{"job_id":${id},"note":"${note}","other":1}`;
    const account = await makeAccount();
    await account.page('research_jobs', page(other(1, 'good'), other(2, 'bad'), other(3, 'good')));
    const ignoreFields = { ...noFields(), research_jobs: ['other'] };
    const ignoring = await MirroredAccount.make(account.database, account.fence.userId, { ignoreFields });
    await withTrigger(account, `raise 'no'`, 'before', async () => {
      const again = page(other(1, 'good'), other(2, 'bad'), other(3, 'new'));
      expect(await ignoring.page('research_jobs', again)).toMatchObject({ counts: { quarantined: 1 } });
    });
    expect(await stored(account)).toMatchObject({ rows: ['1 good', '2 bad', '3 new'], apart: ['2'] });
  });

  it('is found in few round trips, however many are refused', async () => {
    const account = await makeAccount();
    const { database } = account;
    const proxy = await startProxy(Number(new URL(database.url).port));
    const far = await openTestDatabase(Object.assign(new URL(database.url), { host: `127.0.0.1:${proxy.port}` }).href);
    const remote = await MirroredAccount.make({ ...database, ...far }, account.fence.userId);
    const jobs = Array.from({ length: 100 }, (_, id) => job(id, id % 7 === 0 ? 'good' : 'bad'));
    await account.page('research_jobs', page(job(1_000, 'first')));
    await withTrigger(account, `raise 'no' using errcode = '23514'`, 'before', async () => {
      const before = proxy.roundTrips;
      expect(await remote.page('research_jobs', page(...jobs))).toMatchObject({
        counts: { inserted: 15, quarantined: 85 },
      });
      // One by one or by halves, they would take more than 500.
      expect(proxy.roundTrips - before).toBeLessThan(100);
    });
    await far.close();
    await proxy.close();
  });
});
