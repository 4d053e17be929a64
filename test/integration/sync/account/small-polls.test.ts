import { afterEach, expect, it } from 'vitest';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

/** With a way to read, which tells what was asked of the list. */
async function mirrored(): Promise<(what: 'full' | 'poll', times?: number) => Promise<string[]>> {
  account = await createTestAccount({ jobs: 1_200, maxLimit: 500 });
  await account.sandbox.control.clock({ freeze: true });
  const read = async (what: 'full' | 'poll', times = 1): Promise<string[]> => {
    account.asked.length = 0;
    for (let i = 0; i < times; i += 1) {
      expect((await account.read('research_jobs', what)).error).toBeUndefined();
    }
    return account.asked.filter((path) => path.startsWith('/v1/research?'));
  };
  await read('full');
  return read;
}

const [FULL, SMALL] = ['/v1/research?limit=500', '/v1/research?limit=225'];

it('polls ask for fewer rows once a hundred have shown what they need, and miss nothing by it', async () => {
  const read = await mirrored();
  expect(await read('poll', 100)).toEqual(Array<string>(100).fill(FULL));
  expect(await read('poll')).toEqual([SMALL]);

  // More new rows than it has room for.
  const insert = { op: 'insert', collection: 'research_jobs', fields: { status: 'completed' } } as const;
  const ids = await account.sandbox.control.mutate(...Array.from({ length: 40 }, () => insert));
  const [small, rest, ...more] = await read('poll');
  expect([small, rest, more]).toEqual([SMALL, expect.stringContaining('limit=500'), []]);
  const [found] = await account.query<{ rows: number }>(
    `select count(*)::int as rows from mirror.research_jobs where job_id in (${ids.join(', ')})`,
  );
  expect(found?.rows).toBe(40);
  expect(await read('poll')).toEqual([FULL]);

  // What is learnt is memory of the process.
  await account.reopen();
  expect(await read('poll')).toEqual([FULL]);
});
