import { afterEach, expect, it } from 'vitest';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

async function jobsWhere(condition: string): Promise<string[]> {
  const rows = await account.query<{ key: string }>(
    `select job_id as key from mirror.research_jobs where ${condition} order by job_id::bigint`,
  );
  return rows.map(({ key }) => key);
}

it('a key that answers for another account during a pass has its last good proof reported, and deletes nothing', async () => {
  account = await createTestAccount({ keys: 'sandbox-key=1001,other-key=2002' });
  const { control } = account.sandbox;
  const { source } = account.current;
  const waiting = { signal: new AbortController().signal };
  await control.clock({ freeze: true });
  // As the program knows a key before it opens its account.
  for (const { keyHash } of source.keys) {
    await account.query(
      `insert into mirror_sync.api_key (key_hash, _user_id, pinged_at) values ('${keyHash}', 1001, now())`,
    );
  }
  await account.read('research_jobs', 'full');
  await account.read('watchlist', 'full');
  expect(await source.proveAll(waiting)).toBe(true);
  const own = await jobsWhere('_deleted_at is null');
  const [known] = await account.query<{ last: string }>(
    'select change_id::text as last from mirror_sync.account',
  );

  // Within the minute of that proof, the other one's jobs are taken for the own ones.
  await control.change({ keys: 'sandbox-key=2002' });
  await control.mutate({
    op: 'insert',
    user: 2002,
    collection: 'research_jobs',
    fields: { status: 'foreign' },
  });
  await account.read('research_jobs', 'poll');
  const written = await jobsWhere(`_change_id > ${known?.last ?? ''}`);
  expect(written).not.toEqual([]);
  const moved = await source.proveAll(waiting).catch((thrown: unknown) => String(thrown));
  expect(moved).toContain('answers for account 2002, not 1001');
  const since = /rows with a _changed_at from (\S+) on may be the other’s/.exec(String(moved))?.[1];
  expect(await jobsWhere(`_changed_at >= '${since}'`)).toEqual(written);
  expect(await jobsWhere('_deleted_at is null')).toEqual(expect.arrayContaining(own));
  const { error } = await account.read('watchlist', 'poll').catch((thrown: unknown) => ({ error: thrown }));
  expect(String(error)).toBe(moved);
  expect(await account.query('select state from mirror_sync.account')).toEqual([{ state: 'stopped' }]);
  // Nothing is concluded from what was read, and everything is due again.
  expect(await account.query('select from mirror_sync.candidate')).toEqual([]);
  expect(await account.query(`select from mirror_sync.scope where memory <> '{}'`)).toEqual([]);
});
