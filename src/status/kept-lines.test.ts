import fc from 'fast-check';
import { expect, it } from 'vitest';
import { loadConfig } from '../config/load.ts';
import type { AccountStatus } from './status-report.ts';
import { createSchedule } from '../sync/schedule.ts';
import { intervalsKept, type CronLine, linesNotKept } from './collect-status.ts';

const MINUTE = 60_000;
const NOW = new Date(Date.UTC(2026, 0, 1, 12));

const poll = (everyMs = MINUTE): CronLine => ({ name: 'research_jobs', readings: 1, everyMs });
const lists = (readings: number): CronLine => ({ name: 'list_items', readings, everyMs: MINUTE });

it.each<[string, CronLine[], number, number, Record<string, number>]>([
  ['are none where it is enough', [poll()], 47, 48, {}],
  ['are those of lists, which get what polls leave', [poll()], 94, 48, { list_items: 2 * MINUTE }],
  ['are polls, too, where these alone are too many', [poll(10_000)], 10, 3, { research_jobs: 20_000 }],
])('cron lines that ask for more than the rate allows %s', (_, polls, count, perMinute, kept) => {
  const found = Object.fromEntries(intervalsKept(polls, [lists(count)], perMinute));
  expect(found).toMatchObject(kept);
  if (perMinute === 48) expect(Object.keys(found)).toEqual(Object.keys(kept));
  else expect(found['list_items']).toBe(Infinity);
});

it('cron lines together use up the rate at most', () => {
  const line = fc.record({
    name: fc.constant('list_items' as const),
    readings: fc.integer({ min: 1, max: 10_000 }),
    everyMs: fc.integer({ min: 1, max: 100 }).map((minutes) => minutes * MINUTE),
  });
  fc.assert(
    fc.property(line, fc.integer({ min: 1, max: 500 }), (asked, perMinute) => {
      const ms = intervalsKept([], [asked], perMinute).get('list_items') ?? asked.everyMs;
      expect(ms).toBeGreaterThanOrEqual(asked.everyMs);
      expect((asked.readings / ms) * MINUTE).toBeLessThanOrEqual(perMinute + 1e-6);
    }),
  );
});

const schedule = createSchedule(loadConfig({ MIRROR_API_URL: 'https://api.example', MIRROR_API_KEY: 'k' }, 'service'));
const account = (lists: number, more: Partial<AccountStatus> = {}): AccountStatus =>
  ({
    userId: '42',
    state: 'active',
    collections: [
      { collection: 'lists', state: 'current', liveRows: lists },
      { collection: 'list_items', state: 'current', liveRows: 9 },
    ],
    budgets: [{ key: 'k', groups: [{ group: 'other', size: 48 }] }],
    ...more,
  }) as AccountStatus;

it('the note on cron lines that can’t be kept has the interval that the rate can keep', () => {
  expect(linesNotKept(account(5_000), schedule, NOW)).toEqual([
    '42/list_items: each of 5,000 lists is read every 106 min at best, not every 60 s as MIRROR_POLL_CRON says: the account has a budget of 48 requests a minute',
  ]);
});

it('the note on cron lines that can’t be kept is missing if they are kept, the rate is unknown, or nobody reads the account', () => {
  expect(linesNotKept(account(40), schedule, NOW)).toEqual([]);
  expect(linesNotKept(account(5_000, { budgets: [] }), schedule, NOW)).toEqual([]);
  expect(linesNotKept(account(5_000, { state: 'stopped' }), schedule, NOW)).toEqual([]);
});
