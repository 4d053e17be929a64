import fc from 'fast-check';
import { expect, it } from 'vitest';
import { afterRefresh, dueForRefresh, longestDue, refreshHorizon } from './warmth.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = 100 * DAY;
const NEVER = { finishing: 0, day: 0, week: 0 };

/** How often a row of that age is read again in two hours of a poll each minute. */
function readings(age: number, finishMs: number | undefined): number {
  let refreshed = NEVER;
  let count = 0;
  for (let minute = 0; minute < 120; minute += 1) {
    const now = NOW + minute * MINUTE;
    const horizon = refreshHorizon(refreshed, finishMs, now);
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

it('warmth reads an hour’s rows with each poll, a day’s each 10 minutes, a week’s each hour, where nothing is learnt', () => {
  const ages = [0, 59 * MINUTE, 61 * MINUTE, 23 * HOUR, 25 * HOUR, 6 * DAY, 8 * DAY];
  expect(ages.map((age) => readings(age, undefined))).toEqual([120, 120, 12, 12, 2, 2, 0]);
});

it('warmth reads rows with each poll for twice as long as they take, where that is short', () => {
  const ages = [0, 9 * MINUTE, 11 * MINUTE, 23 * HOUR, 25 * HOUR];
  expect(ages.map((age) => readings(age, 5 * MINUTE))).toEqual([120, 120, 12, 12, 2]);
  // One that failed may be retried for an hour, whatever others take.
  expect(longestDue(refreshHorizon({ finishing: NOW, day: NOW, week: NOW }, 5 * MINUTE, NOW))).toBe(HOUR);
});

it('warmth reads them more often for twice as long as they take, where that is long', () => {
  const ages = [0, 59 * MINUTE, 61 * MINUTE, 239 * MINUTE, 241 * MINUTE, 25 * HOUR];
  // Four hours: each four minutes. Those of a day come along each ten.
  const [atOnce, hour, more, last, day, week] = ages.map((age) => readings(age, 2 * HOUR));
  expect([atOnce, hour, day, week]).toEqual([120, 120, 12, 2]);
  expect(more).toBe(last);
  expect(more).toBeGreaterThanOrEqual(30);
  expect(more).toBeLessThanOrEqual(42);
});

it('warmth never reads a row less often than where nothing is learnt, once it is older than such rows take', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 8 * DAY }),
      fc.integer({ min: 0, max: 10 * DAY }),
      (age, finishMs) => {
        const [learnt, fixed] = [readings(age, finishMs), readings(age, undefined)];
        if (age >= HOUR || age < 2 * Math.max(MINUTE, finishMs)) expect(learnt).toBeGreaterThanOrEqual(fixed);
        else expect(learnt).toBeGreaterThanOrEqual(12);
      },
    ),
  );
});

it('warmth makes everything due when the clock went back', () => {
  const refreshed = { finishing: NOW, day: NOW, week: NOW };
  expect(refreshHorizon(refreshed, undefined, NOW - MINUTE)).toBe(7 * DAY);
});
