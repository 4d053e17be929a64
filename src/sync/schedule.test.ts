import fc from 'fast-check';
import { createTask } from 'node-cron';
import { expect, it, describe } from 'vitest';
import { CronLine, correctedRuns, createSchedule, type NextRuns } from './schedule.ts';
import { loadConfig } from '../config/load.ts';

const next = (line: string, after: string): string | undefined =>
  new CronLine(line).next(new Date(after))?.toISOString();

it.each([
  ['* * * * *', '2026-01-01T00:00:00.000Z', '2026-01-01T00:01:00.000Z'],
  ['* * * * *', '2026-01-01T00:00:59.999Z', '2026-01-01T00:01:00.000Z'],
  ['@daily', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'],
  ['@hourly', '2025-12-31T23:59:59.000Z', '2026-01-01T00:00:00.000Z'],
  ['30 22-2 * * *', '2026-01-01T02:30:00.000Z', '2026-01-01T22:30:00.000Z'],
  ['15,45 3 L * *', '2026-01-31T03:15:00.000Z', '2026-01-31T03:45:00.000Z'],
  ['15,45 3 L * *', '2026-01-31T03:45:00.000Z', '2026-02-28T03:15:00.000Z'],
  ['0 0 * * sun', '2026-01-01T00:00:00.000Z', '2026-01-04T00:00:00.000Z'],
  ['0 0 * * fri#2', '2026-01-01T00:00:00.000Z', '2026-01-09T00:00:00.000Z'],
  ['0 0 29 2 *', '2026-01-01T00:00:00.000Z', '2028-02-29T00:00:00.000Z'],
  ['0 0 29 2 1', '2026-01-01T00:00:00.000Z', '2044-02-29T00:00:00.000Z'],
])('cron line %s runs next after %s', (line, after, expected) => {
  expect(next(line, after)).toBe(expected);
});

it('a cron line runs next in the first later minute that node-cron matches', () => {
  const field = (least: number, most: number): fc.Arbitrary<string> =>
    fc.oneof(fc.constant('*'), fc.constantFrom('*/7', '*/2'), fc.integer({ min: least, max: most }).map(String));
  const line = fc
    .tuple(
      field(0, 59),
      field(0, 23),
      fc.constantFrom('*', '*', '1', 'L', '10-20', '31'),
      fc.constantFrom('*', 'mon', '0', '7', '5-7'),
    )
    .map(([minute, hour, day, weekday]) => `${minute} ${hour} ${day} * ${weekday}`);
  fc.assert(
    fc.property(line, fc.integer({ min: 0, max: 86_400 * 365 }), (expression, seconds) => {
      const after = Date.UTC(2026, 0, 1) + seconds * 1000;
      const found = new CronLine(expression).next(new Date(after))?.getTime() ?? Number.POSITIVE_INFINITY;
      const task = createTask(expression, () => {}, { timezone: 'UTC' });
      expect(found).toBeGreaterThan(after);
      expect(task.match(new Date(found))).toBe(true);
      // The minutes before it, as many as can be checked quickly.
      const first = Math.floor(after / 60_000) * 60_000 + 60_000;
      for (let minute = first; minute < found && minute < first + 40 * 60_000; minute += 60_000) {
        expect(task.match(new Date(minute))).toBe(false);
      }
    }),
    { numRuns: 60 },
  );
});

const at = (hour: number, minute: number, day = 2): Date => new Date(Date.UTC(2026, 0, day, hour, minute));
const line: NextRuns = { nextPollAt: at(3, 11), nextFullAt: at(3, 30, 3) };
const never: NextRuns = { nextPollAt: null, nextFullAt: null };
const runs = (nextPollAt: Date, nextFullAt: Date): NextRuns => ({ nextPollAt, nextFullAt });

/** `corrected`: undefined: the stored ones stay. */
it.each<[string, stored: NextRuns | undefined, NextRuns, corrected: NextRuns | undefined, paused?: boolean]>([
  ['stays where its moment came while nobody ran', runs(at(1, 0), at(3, 30, 1)), line, undefined],
  ['stays where it is still to come', runs(at(3, 11), at(3, 30)), line, undefined],
  // It came from another line, or a clock went back.
  ['is never later than the line’s next run', runs(at(3, 11, 9), at(3, 30, 9)), line, line],
  ['is there from the start', undefined, line, line],
  ['is removed where the line says never', runs(at(1, 0), at(1, 0)), never, never],
  ['is stored again where the collection was paused', line, line, line, true],
])('a stored next run %s', (_, stored, next, corrected, paused = false) => {
  const found = new Map(stored === undefined ? [] : [['lists', { ...stored, paused }] as const]);
  expect(correctedRuns(['lists'], found, () => next).get('lists')).toEqual(corrected);
});

describe('the schedule', () => {
  const SERVICE = { MIRROR_API_URL: 'https://api.example', MIRROR_API_KEY: 'k' };
  const schedule = createSchedule(loadConfig({ ...SERVICE, MIRROR_FULL_CRON: '@daily' }, 'service'));
  const users = Array.from({ length: 200 }, (_, user) => String(user));
  const next = (user: string, now: Date, which: keyof NextRuns = 'nextFullAt'): number =>
    schedule.of(user)('lists', now)[which]?.getTime() ?? 0;

  it('spreads full walks over the hour after their line, each account always at its own time', () => {
    const moments = users.map((user) => next(user, at(12, 0)));
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(at(0, 0, 3).getTime());
    expect(Math.max(...moments)).toBeLessThan(at(1, 0, 3).getTime());
    expect(new Set(moments).size).toBeGreaterThan(190);
    expect(next('7', at(13, 0))).toBe(next('7', at(14, 0)));
  });

  it('spreads polls over three quarters of their minute, each account always at its own second', () => {
    const moments = users.map((user) => next(user, at(12, 0), 'nextPollAt'));
    expect(Math.min(...moments)).toBeGreaterThan(at(12, 0).getTime());
    expect(Math.max(...moments)).toBeLessThan(at(12, 1).getTime() + 45_000);
    for (const quarter of [0, 1, 2]) {
      const within = moments.filter((moment) => Math.floor((moment % 60_000) / 15_000) === quarter);
      expect(within.length).toBeGreaterThan(40);
    }
    const later = moments.map((moment, index) => next(users[index] ?? '', new Date(moment), 'nextPollAt'));
    expect(later).toEqual(moments.map((moment) => moment + 60_000));
  });

  it('does not skip an account whose place comes after the line’s run', () => {
    for (const user of users) {
      const run = next(user, at(23, 0));
      expect(next(user, new Date(run - 1))).toBe(run);
      expect(next(user, new Date(run))).toBe(run + 86_400_000);
    }
  });

  it('has no run later than its latest', () => {
    for (const now of [at(0, 20), at(12, 0), at(23, 59)]) {
      const latest = schedule.latest('lists', now);
      for (const which of ['nextPollAt', 'nextFullAt'] as const) {
        const last = Math.max(...users.map((user) => next(user, now, which)));
        expect(last).toBeLessThanOrEqual(latest[which]?.getTime() ?? 0);
      }
    }
  });
});
