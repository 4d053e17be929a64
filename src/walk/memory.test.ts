import { expect, it } from 'vitest';
import { OVERLAP } from './frontier.ts';
import {
  isWorthStoring,
  newMemory,
  readMemory,
  type ScopeMemory,
  afterRefresh,
  dueForRefresh,
  refreshHorizon,
} from './memory.ts';
import fc from 'fast-check';

const FRONTIER = { key: '9', at: 0, asOf: 1_000_000, marks: [[0, '7']] } as const;
const STORED: ScopeMemory = { ...newMemory('bigint'), frontier: FRONTIER, rows: 12 };

/** The memory after a poll in which nothing happened, as of then. */
function later(ms: number): ScopeMemory {
  return { ...STORED, frontier: { ...FRONTIER, asOf: FRONTIER.asOf + ms } };
}

it('the memory of a scope is not stored where only its frontier is as of a little later', () => {
  const read = readMemory(JSON.parse(JSON.stringify(STORED)), 'bigint');
  for (const memory of [read, later(60_000), later(OVERLAP / 2 - 1)]) {
    expect(isWorthStoring(read, memory)).toBe(false);
  }
});

it('the memory of a scope is stored where it lags half the overlap behind, or says something else', () => {
  const changes: Partial<ScopeMemory>[] = [
    { rows: 13 },
    { frontier: null },
    { frontier: { ...FRONTIER, asOf: FRONTIER.asOf + 1, key: '10' } },
    { frontier: { ...FRONTIER, asOf: FRONTIER.asOf + 1, marks: [] } },
    { evidence: { ...STORED.evidence, doubt: true } },
    { refreshed: { day: 1, week: 0 } },
    { open: { first: null, at: 0, asOf: 0, after: '1', low: null } },
  ];
  for (const memory of [later(OVERLAP / 2), later(-1), ...changes.map((each) => ({ ...STORED, ...each }))]) {
    expect(isWorthStoring(STORED, memory)).toBe(true);
  }
  expect(isWorthStoring({ ...STORED, frontier: null }, STORED)).toBe(true);
});

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
