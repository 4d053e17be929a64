import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AccountsService, accountsService } from '../../../src/account/accounts-service.ts';
import { startDueWork } from '../../../src/daemon/work-finder.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';

let account: TestAccount;
let service: AccountsService;
let look: () => Promise<number>;
beforeEach(async () => {
  account = await createTestAccount();
  await account.current.close();
  service = accountsService(account.parts, account.config.service.keys);
  look = () => startDueWork(account.parts, service.runners());
  await service.start();
  await eventually('the account to run', () => service.runners()[0]?.current());
  await eventually('the first load', async () => (await freshness()).complete_as_of !== null);
});
afterEach(async () => {
  await service.stop();
  await account.close();
});

/** Of the lists. */
async function freshness() {
  const [row] = await account.query<{
    complete_as_of: Date | null;
    next_poll_at: Date;
    next_full_at: Date;
    state: string;
  }>(`select * from mirror.freshness where collection = 'lists'`);
  if (row === undefined) throw new Error('nothing is known of lists');
  return row;
}

const schedule = (set: string): Promise<unknown> =>
  account.query(`update mirror._collections set ${set} where collection = 'lists'`);
const inMinutes = (minutes: number): string => `now() + interval '${minutes} minutes'`;
const walks = (kind: string): number =>
  account.walks.filter((each) => each.kind === kind && each.scope.collection === 'lists').length;

describe('a run whose moment has passed', () => {
  it('begins at a look, once for all moments that were missed', async () => {
    const before = walks('full');
    await schedule(`next_full_at = now() - interval '9 days'`);
    await look();
    await eventually('the full walk', async () => (await freshness()).next_full_at > new Date());
    await look();
    await look();
    expect(walks('full')).toBe(before + 1);
  });

  it('may be a poll as well', async () => {
    const before = walks('poll');
    await schedule(`next_poll_at = now() - interval '1 minute'`);
    // Again and again: the first polls may still be under way.
    await eventually('the poll', async () => {
      await look();
      return (await freshness()).next_poll_at > new Date();
    });
    expect(walks('poll')).toBeGreaterThan(before);
  });

  it('begins again if it fell due during another one', async () => {
    const before = walks('full');
    // A poll at the minute's beginning would ask in its place.
    await schedule(`next_full_at = now() - interval '1 minute', next_poll_at = now() + interval '1 hour'`);
    const blocked = Promise.withResolvers<void>();
    let asked = false;
    account.onRequest = (path) => {
      if (!path.startsWith('/v1/lists?') && path !== '/v1/lists') return undefined;
      asked = true;
      return blocked.promise;
    };
    await look();
    await eventually('its request', () => asked);
    await schedule(`next_full_at = clock_timestamp()`);
    blocked.resolve();
    await eventually('its end', () => walks('full') > before);
    await eventually('the next one', async () => {
      await look();
      return walks('full') > before + 1;
    });
    await eventually('the next run to be stored', async () => (await freshness()).next_full_at > new Date());
    expect(walks('full')).toBe(before + 2);
  });
});

it('a look for due work says when the earliest run of any collection is due', async () => {
  const others = `update mirror._collections set next_poll_at = null, next_full_at = null`;
  await account.query(`${others} where collection <> 'lists'`);
  await schedule(`next_poll_at = ${inMinutes(0.5)}, next_full_at = ${inMinutes(0.7)}`);
  const untilPoll = await look();
  expect(untilPoll).toBeGreaterThan(0);
  expect(untilPoll).toBeLessThanOrEqual(30_000);
  await schedule(`next_poll_at = null`);
  const untilFull = await look();
  expect(untilFull).toBeGreaterThan(untilPoll);
  expect(untilFull).toBeLessThanOrEqual(42_000);
  await schedule(`next_poll_at = now() - interval '1 second'`);
  expect(await look()).toBe(0);
});

it('a next run that lies too far in the future becomes the next run of its line: the database’s clock went back', async () => {
  await schedule(`next_poll_at = now() + interval '1 year', next_full_at = now() + interval '1 year'`);
  await look();
  const { next_poll_at: poll, next_full_at: full } = await freshness();
  expect(poll.getTime() - Date.now()).toBeLessThanOrEqual(60_000);
  expect(full.getTime() - Date.now()).toBeLessThanOrEqual(25 * 3_600_000);
});

it('freshness shows the readings that should have begun and did not', async () => {
  await service.stop();
  const full = (minutesAgo: number) => `next_poll_at = now(), next_full_at = ${inMinutes(-minutesAgo)}`;
  for (const [set, state] of [
    [full(14), 'current'],
    [full(16), 'overdue'],
    [`${full(300)}, reading_at = ${inMinutes(-2)}`, 'current'],
    [`${full(300)}, reading_at = ${inMinutes(-3)}`, 'overdue'],
    [`next_full_at = null, next_poll_at = ${inMinutes(-6)}`, 'overdue'],
    [`next_full_at = null, next_poll_at = null`, 'current'],
    // The database's clock went back: neither the next poll nor a reading that goes on is to hide that nothing is read.
    [`next_poll_at = ${inMinutes(60)}, polled_at = ${inMinutes(59)}`, 'overdue'],
    [`next_poll_at = ${inMinutes(60)}, polled_at = ${inMinutes(59)}, reading_at = ${inMinutes(59)}`, 'overdue'],
    [`next_poll_at = ${inMinutes(-6)}, reading_at = ${inMinutes(59)}, polled_at = now()`, 'overdue'],
  ] as const) {
    await schedule(`reading_at = null, state = 'current'`);
    await schedule(set);
    expect([set, (await freshness()).state]).toEqual([set, state]);
  }
});
