import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { describe, expect, it } from 'vitest';
import { TransportError } from '../../model/errors.ts';
import type { AccountWork } from '../../db/status/stored-activity.ts';
import type { AccountRunner } from '../accounts/account-runner.ts';
import { ActivityCount } from './activity-count.ts';
import { activityKeeper } from './activity-keeper.ts';

const RUNNING = {} as NonNullable<ReturnType<AccountRunner['current']>>;
const lists = (userId: string) => ({ userId, collection: 'lists', parent: '' }) as const;

function keeper(start: string) {
  const clock = new VirtualClock(Date.parse(start));
  const count = new ActivityCount();
  const stored: (readonly [string, readonly AccountWork[]])[] = [];
  const failures: unknown[] = [];
  const world = { away: false, owned: ['1', '2'] };
  const service = activityKeeper({
    count,
    runners: () =>
      ['1', '2', '3'].map((userId) => ({
        userId,
        current: () => (world.owned.includes(userId) ? RUNNING : undefined),
      })),
    store: async (at, work) => {
      if (world.away) throw new Error('no database');
      stored.push([new Date(at).toISOString().slice(11, 19), work]);
    },
    clock,
    onFailure: (error) => failures.push(error),
  });
  return { clock, count, stored, failures, world, service };
}

describe('the activity of accounts', () => {
  it('is stored once a minute, behind the minute’s polls, of all owned accounts, and counted once', async () => {
    const { clock, count, stored, service } = keeper('2026-01-01T12:00:10Z');
    await service.start();
    count.pageWritten({ scope: lists('1'), inserted: 2, updated: 3 });
    count.deletionsJudged({ scope: lists('1'), deleted: 4 });
    count.requestEnded('1', { error: undefined });
    count.requestEnded('1', { error: new TransportError('reset') });
    count.requestEnded('1', { error: new TransportError('no address', { sent: false }) });
    await clock.advance(110_000);
    await service.stop();
    const [one, none] = [
      { userId: '1', changes: 9, requests: 2 },
      { userId: '1', changes: 0, requests: 0 },
    ];
    const two = { userId: '2', changes: 0, requests: 0 };
    expect(stored).toEqual([
      ['12:00:57', [one, two]],
      ['12:01:57', [none, two]],
      ['12:02:00', [none, two]],
    ]);
  });

  it('that could not be stored is stored later, and said once', async () => {
    const { clock, count, stored, failures, world, service } = keeper('2026-01-01T12:00:00Z');
    await service.start();
    world.away = true;
    count.pageWritten({ scope: lists('2'), inserted: 1, updated: 0 });
    await clock.advance(60_000);
    count.pageWritten({ scope: lists('2'), inserted: 1, updated: 0 });
    await clock.advance(60_000);
    expect(stored).toEqual([]);
    world.away = false;
    await clock.advance(60_000);
    expect(stored.map(([at, work]) => [at, work[0]?.changes, work[1]?.changes])).toEqual([
      ['12:02:57', 2, 0],
    ]);
    expect(failures).toHaveLength(1);
  });

  it('of an account that was lost is stored, and that it is owned no more ends it', async () => {
    const { clock, count, stored, world, service } = keeper('2026-01-01T12:00:00Z');
    await service.start();
    count.requestEnded('1', { error: undefined });
    world.owned = ['2'];
    await clock.advance(120_000);
    expect(stored.map(([, work]) => work.map(({ userId }) => userId))).toEqual([['1', '2'], ['2']]);
  });

  it('is stored at a stop, but not where the database is away', async () => {
    for (const away of [false, true]) {
      const { clock, count, stored, failures, world, service } = keeper('2026-01-01T12:00:00Z');
      await service.start();
      world.away = away;
      await clock.advance(58_000);
      count.requestEnded('1', { error: undefined });
      await service.stop();
      expect(stored.at(-1)?.[1].find(({ userId }) => userId === '1')?.requests).toBe(away ? undefined : 1);
      expect(failures).toHaveLength(away ? 1 : 0);
    }
  });
});
