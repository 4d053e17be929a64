import { afterEach, expect, it } from 'vitest';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

it('polls ask for fewer rows once a hundred have shown what they need, and miss nothing by it', async () => {
  account = await createTestAccount({ jobs: 1_200, maxLimit: 500 });
  await account.sandbox.control.clock({ freeze: true });
  const read = async (what: 'full' | 'poll'): Promise<string[]> => {
    account.asked.length = 0;
    expect((await account.read('research_jobs', what)).error).toBeUndefined();
    return account.asked.filter((path) => path.startsWith('/v1/research?'));
  };
  await read('full');
  for (let i = 0; i < 100; i += 1) expect(await read('poll')).toEqual(['/v1/research?limit=500']);
  expect(await read('poll')).toEqual(['/v1/research?limit=225']);

  // More new rows than it has room for.
  const insert = { op: 'insert', collection: 'research_jobs', fields: { status: 'completed' } } as const;
  const ids = await account.sandbox.control.mutate(...Array.from({ length: 40 }, () => insert));
  const [small, rest, ...more] = await read('poll');
  expect([small, rest, more]).toEqual(['/v1/research?limit=225', expect.stringContaining('limit=500'), []]);
  const [found] = await account.query<{ rows: number }>(
    `select count(*)::int as rows from mirror.research_jobs where job_id in (${ids.join(', ')})`,
  );
  expect(found?.rows).toBe(40);
  expect(await read('poll')).toEqual(['/v1/research?limit=500']);

  // What is learnt is memory of the process.
  await account.reopen();
  expect(await read('poll')).toEqual(['/v1/research?limit=500']);
});
