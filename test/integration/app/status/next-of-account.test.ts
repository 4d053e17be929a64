import { afterEach, expect, it } from 'vitest';
import { statusReport } from '../../../../src/app/status/collect-status.ts';
import { readWorkload } from '../../../../src/app/status/workload.ts';
import type { UpcomingReading } from '../../../../src/model/status/status-report.ts';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

it('status says what is read next of an account, from what is stored', async () => {
  account = await createTestAccount({ jobs: 30 });
  const { config, database } = account;
  const { db } = database;
  const next = async (): Promise<UpcomingReading | null | undefined> => {
    const workload = (): ReturnType<typeof readWorkload> => readWorkload(db, config);
    const report = await statusReport({ config, db, words: '', accounts: undefined, workload });
    return report.accounts[0]?.next;
  };
  await account.read('research_jobs', 'poll');
  await account.read('research_jobs', 'full');
  await account.query(
    `update mirror._collections set next_full_at = null,
       next_poll_at = case when collection = 'research_jobs' then next_poll_at end`,
  );
  const stored = await account.query<{ at: Date }>(
    `select next_poll_at as at from mirror._collections where collection = 'research_jobs'`,
  );
  const at = stored[0]?.at.toISOString();
  expect(await next()).toEqual({ what: 'poll of research_jobs', at, because: 'its cron line polls it then' });

  await account.query(
    `update mirror._collections set next_full_at = now() - interval '1 s' where collection = 'research_jobs'`,
  );
  expect(await next()).toMatchObject({
    what: 'full walk of research_jobs',
    because: 'all of it is to be read again before its cron line does',
  });

  await account.query(`update mirror_sync.account set owner = null`);
  expect(await next()).toBeNull();
});
