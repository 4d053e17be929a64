import { afterEach, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

/** Polls as scheduled. Rows of polls in the log then, and how long (ms) after the last poll the next one is due. */
async function polled(): Promise<{ rows: number; nextAfterMs: number }> {
  const { signal } = new AbortController();
  const { error } = await account.current.reader.read('research_jobs', {
    what: 'poll',
    scheduled: true,
    signal,
  });
  expect(error).toBeUndefined();
  const [row] = await account.query<{ rows: number; nextAfterMs: number }>(`
    select (select count(*)::int from mirror.sync_log where collection = 'research_jobs' and kind = 'poll') as rows,
      extract(epoch from next_poll_at - polled_at)::float8 * 1000 as "nextAfterMs"
    from mirror._collections where collection = 'research_jobs'`);
  if (row === undefined) throw new Error('research_jobs has no row');
  return row;
}

it('a poll before its line’s run is logged where it finds something, and moves freshness in any case', async () => {
  let ahead = 0;
  account = await createTestAccount({}, { ...systemClock, now: () => Date.now() + ahead });
  await account.read('research_jobs', 'full');
  // As after hours in which it changed each few seconds.
  await account.query(
    `update mirror_sync.scope set changes = 1e6, watched_ms = 3e7 where collection = 'research_jobs'`,
  );
  await account.reopen();
  // Just after a run of the line.
  const line = account.parts.schedule.after(
    String(account.sandbox.userId),
    'research_jobs',
    new Date(Date.now() + 60_000),
  );
  ahead = (line.nextPollAt?.getTime() ?? 0) - Date.now();
  const first = await polled();
  expect(first).toMatchObject({ rows: 1 });
  expect(first.nextAfterMs).toBeLessThan(20_000);
  const [job] = await account.query<{ id: string }>('select max(job_id) as id from mirror.research_jobs');
  await account.query(
    `update mirror._collections set polled_at = 'epoch' where collection = 'research_jobs'`,
  );
  const second = await polled();
  expect(second.rows).toBe(1);
  expect(second.nextAfterMs).toBeLessThan(20_000);
  await account.sandbox.control.mutate({
    op: 'update',
    collection: 'research_jobs',
    id: job?.id ?? '',
    fields: { note: 'changed' },
  });
  expect((await polled()).rows).toBe(2);
});
