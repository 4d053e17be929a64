import { describe, expect, it } from 'vitest';
import { loadConfig } from '../config/load.ts';
import { correctedRuns, createSchedule, type NextRuns } from './schedule.ts';

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
