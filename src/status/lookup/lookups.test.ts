import { expect, it } from 'vitest';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { sampleLookups } from '../../../test/support/processes/sample-lookups.ts';
import { fewLookups } from './lookups.ts';

/** Lookups that are answered when the test says so. */
function slowLookups() {
  const clock = new VirtualClock();
  const asked: { readonly query: string; readonly answer: () => void }[] = [];
  const lookups = fewLookups(
    sampleLookups({
      search: (query) =>
        new Promise((resolve) =>
          asked.push({ query, answer: () => resolve({ query, at: '', results: [], more: false }) }),
        ),
    }),
    clock,
  );
  return { clock, asked, lookups };
}

it('runs two lookups at a time, in the order in which they came, and refuses what is too many', async () => {
  const { clock, asked, lookups } = slowLookups();
  const all = Array.from({ length: 10 }, (_, n) => lookups.search(String(n)));
  await expect(lookups.search('one more')).rejects.toThrow(DatabaseUnavailable);
  await expect(lookups.search('one more')).rejects.toThrow(/busy/);
  for (let n = 0; n < 10; n += 1) {
    expect(asked.map(({ query }) => Number(query))).toEqual([...Array(Math.min(10, n + 2)).keys()]);
    asked[n]?.answer();
    expect(await clock.runUntil(all[n] ?? Promise.reject(new Error('no lookup')))).toMatchObject({
      query: String(n),
    });
  }
  const next = lookups.search('next');
  asked.at(-1)?.answer();
  expect(await clock.runUntil(next)).toMatchObject({ query: 'next' });
});

it('answers in time where the database hangs, and does not begin what nobody waits for any more', async () => {
  const { clock, asked, lookups } = slowLookups();
  const all = ['1', '2', '3'].map((query) => lookups.search(query));
  const outcomes = await clock.runUntil(Promise.allSettled(all));
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  await expect(all[2]).rejects.toThrow('the database did not answer within 8 s');
  for (const { answer } of asked.splice(0)) answer();
  const next = lookups.search('next');
  await expect.poll(() => asked.map(({ query }) => query)).toEqual(['next']);
  asked[0]?.answer();
  await clock.runUntil(next);
});

it('gives the turn of a lookup that failed to the next one', async () => {
  const clock = new VirtualClock();
  const row = async (): Promise<never> => {
    throw new DatabaseUnavailable('away');
  };
  const lookups = fewLookups(sampleLookups({ row }), clock);
  const address = { userId: '1', collection: 'lists', key: ['1'] } as const;
  for (let n = 0; n < 20; n += 1) await expect(lookups.row(address, 1)).rejects.toThrow('away');
});
