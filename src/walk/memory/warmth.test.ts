import { describe, expect, it } from 'vitest';
import { afterRefresh, dueForRefresh, refreshHorizon } from './warmth.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = 100 * DAY;

describe('warmth', () => {
  it('cools with the time since the last change', () => {
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

  it('reads a day’s rows each 10 minutes and a week’s each hour, whatever the polls’ rhythm', () => {
    let refreshed = { day: 0, week: 0 };
    const reach: number[] = [];
    for (let minute = 0; minute < 120; minute += 1) {
      const now = NOW + minute * MINUTE;
      const horizon = refreshHorizon(refreshed, now);
      reach.push(horizon);
      refreshed = afterRefresh(refreshed, horizon, now);
    }
    expect(reach.filter((horizon) => horizon === 7 * DAY)).toHaveLength(2);
    expect(reach.filter((horizon) => horizon >= DAY)).toHaveLength(12);
    expect(reach.filter((horizon) => horizon >= HOUR)).toHaveLength(120);
  });

  it('makes everything due when the clock went back', () => {
    expect(refreshHorizon({ day: NOW, week: NOW }, NOW - MINUTE)).toBe(7 * DAY);
  });
});
