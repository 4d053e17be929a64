import { afterEach, expect, it } from 'vitest';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

it('what was written since a key’s last good proof is listed when it answers for another account', async () => {
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
  const [written] = await account.query<{ rows: number; first: string; last: string }>(
    `select count(*)::int as rows, min(_change_id)::text as first, max(_change_id)::text as last
     from mirror.research_jobs where _change_id > ${known?.last ?? ''}`,
  );
  expect(written?.rows).toBeGreaterThan(0);
  const { rows, first, last: lastWritten } = written ?? {};
  const listed = `${rows} ${rows === 1 ? 'row' : 'rows'} of research_jobs (_change_id ${first} to ${lastWritten})`;
  await expect(source.proveAll(waiting)).rejects.toThrow(
    `answers for account 2002, not 1001 (written since it last answered for its own: ${listed}):`,
  );
  const { error } = await account.read('watchlist', 'poll').catch((thrown: unknown) => ({ error: thrown }));
  expect(String(error)).toContain(listed);
  expect(await account.query('select state from mirror_sync.account')).toEqual([{ state: 'stopped' }]);
  // Nothing is concluded from what was read, and everything is due again.
  expect(await account.query('select from mirror_sync.candidate')).toEqual([]);
  expect(await account.query(`select from mirror_sync.scope where memory <> '{}'`)).toEqual([]);
});
