import { systemClock } from '@research-mirror/runtime/clock';
import { afterEach, expect, it } from 'vitest';
import { createFrozenAccount, type TestAccount } from '../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

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
  account.onAnswer = (path, answer) =>
    path === '/v1/ping' && isRefused ? { ...answer, status: 401 } : answer;
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
