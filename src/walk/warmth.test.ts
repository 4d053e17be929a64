import fc from 'fast-check';
import { expect, it } from 'vitest';
import { afterRefresh, dueForRefresh, refreshHorizon } from './memory.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = 100 * DAY;
const NEVER = { day: 0, week: 0 };

/** How often a row of that age is read again in two hours of a poll each minute. */
function readings(age: number): number {
  let refreshed = NEVER;
  let count = 0;
  for (let minute = 0; minute < 120; minute += 1) {
    const now = NOW + minute * MINUTE;
    const horizon = refreshHorizon(refreshed, now);
    count += dueForRefresh({ since: now - age, failed: false }, horizon, now) ? 1 : 0;
    refreshed = afterRefresh(refreshed, horizon, now);
  }
  return count;
}

it('warmth cools with the time since the last change', () => {
  const due = (age: number, horizon: number, failed = false): boolean =>
    dueForRefresh({ since: NOW - age, failed }, horizon, NOW);
  expect([due(59 * MINUTE, HOUR), due(61 * MINUTE, HOUR), due(61 * MINUTE, DAY)]).toEqual([
    true,
    false,
    true,
  ]);
  expect([due(6 * DAY, 7 * DAY), due(8 * DAY, 7 * DAY)]).toEqual([true, false]);
  expect([due(59 * MINUTE, 7 * DAY, true), due(61 * MINUTE, 7 * DAY, true)]).toEqual([true, false]);
});

it('warmth reads an hour’s rows with each poll, a day’s each 10 minutes, a week’s each hour', () => {
  const ages = [0, 59 * MINUTE, 61 * MINUTE, 23 * HOUR, 25 * HOUR, 6 * DAY, 8 * DAY];
  expect(ages.map(readings)).toEqual([120, 120, 12, 12, 2, 2, 0]);
});

it('warmth never reads a row more often the longer ago it changed', () => {
  const age = fc.integer({ min: 0, max: 10 * DAY });
  fc.assert(
    fc.property(age, age, (one, other) => {
      expect(readings(Math.min(one, other))).toBeGreaterThanOrEqual(readings(Math.max(one, other)));
    }),
  );
});

it('warmth reads a failed row for an hour, whatever else is due', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 8 * DAY }), fc.constantFrom(HOUR, DAY, 7 * DAY), (age, horizon) => {
      expect(dueForRefresh({ since: NOW - age, failed: true }, horizon, NOW)).toBe(age < HOUR);
    }),
  );
});

it('warmth makes everything due when the clock went back', () => {
  const refreshed = { day: NOW, week: NOW };
  expect(refreshHorizon(refreshed, NOW - MINUTE)).toBe(7 * DAY);
});
