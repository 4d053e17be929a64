import { afterEach, expect, it } from 'vitest';
import { createTestAccount, type TestAccount, createFrozenAccount } from '../../support/sync/read-account.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { rememberKey } from '../../../src/postgres/accounts.ts';
import { databaseTime } from '../../../src/postgres/db.ts';
import { ensureAccount } from '../../../src/postgres/lease.ts';
import { LeaseLost } from '../../../src/model/errors.ts';
import { createOwnershipStore } from '../../../src/sync/account-store.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';

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
  const [known] = await account.query<{ last: string }>('select change_id::text as last from mirror_sync.account');

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
  expect(moved).toContain('belongs to account 2002, not 1001');
  const since = /rows with a _changed_at since (\S+) may belong to the other account/.exec(String(moved))?.[1];
  expect(await jobsWhere(`_changed_at >= '${since}'`)).toEqual(written);
  expect(await jobsWhere('_deleted_at is null')).toEqual(expect.arrayContaining(own));
  const { error } = await account.read('watchlist', 'poll').catch((thrown: unknown) => ({ error: thrown }));
  expect(String(error)).toBe(moved);
  expect(await account.query('select state from mirror_sync.account')).toEqual([{ state: 'stopped' }]);
  // Nothing is concluded from what was read, and everything is due again.
  expect(await account.query('select from mirror_sync.candidate')).toEqual([]);
  expect(await account.query(`select from mirror_sync.scope where memory <> '{}'`)).toEqual([]);
});

it('a full reading is not complete if its suspects were forgotten with a refused key', async () => {
  account = await createFrozenAccount({}, systemClock, { MIRROR_SETTLE: '1s' });
  const completeAsOf = () =>
    account.query(`select complete_as_of from mirror.freshness where collection = 'research_jobs'`);
  await account.read('research_jobs', 'full');
  const before = await completeAsOf();
  const [row] = await account.query<{ id: string }>(
    `select job_id as id from mirror.research_jobs order by job_id limit 1`,
  );
  const id = row?.id ?? '';
  await account.sandbox.control.mutate({ op: 'delete', collection: 'research_jobs', id });

  const { source } = account.current;
  const isGood = () => source.isGood(source.keys[0]?.keyHash ?? '', { signal: new AbortController().signal });
  let isRefused = false;
  account.onAnswer = (path, answer) => (path === '/v1/ping' && isRefused ? { ...answer, status: 401 } : answer);
  // While the reading waits for its second proofs the key is refused, and is good again.
  const goesOn = Promise.withResolvers<void>();
  account.observers.push({ suspectsWait: () => goesOn.resolve() });
  const reading = account.read('research_jobs', 'full');
  await goesOn.promise;
  isRefused = true;
  expect(await isGood()).toBe(false);
  isRefused = false;
  expect(await isGood()).toBe(true);
  await reading;
  expect(await completeAsOf()).toEqual(before);

  // The next one has proofs of its own.
  await account.read('research_jobs', 'full');
  expect(await completeAsOf()).not.toEqual(before);
  const gone = `select job_id as id from mirror.research_jobs where _deleted_at is not null`;
  expect(await account.query(gone)).toEqual([{ id }]);
});

const database = testDatabase();

it('a process that lost its account stores neither a proof of its key nor that the key answered for another account', async () => {
  const { db } = database;
  await ensureAccount(db, '42', await databaseTime(db));
  await rememberKey(db, 'key', { userId: '42' });
  await db.sql`update ${db.stateTable('account')} set owner = gen_random_uuid(), token = 2`;
  const stored = async () =>
    (await db.sql`select * from ${db.stateTable('api_key')}, ${db.stateTable('account')}`).rows;
  const before = await stored();
  const { rows } = await db.sql<{ owner: string }>`select owner from ${db.stateTable('account')}`;
  const fence = { userId: '42', owner: rows[0]?.owner ?? '', token: '1' };
  const store = createOwnershipStore(db, fence, 'https://service.example');
  await expect(store.proven('key', () => 0)).rejects.toThrow(LeaseLost);
  await expect(store.contradicted('key', '43')).rejects.toThrow(LeaseLost);
  expect(await stored()).toEqual(before);
});
