import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { createSchedule, type NextRuns } from './next-runs.ts';
import { correctedRuns } from './scheduled-runs.ts';

const at = (hour: number, minute: number, day = 2): Date => new Date(Date.UTC(2026, 0, day, hour, minute));
const line: NextRuns = { nextPollAt: at(3, 11), nextFullAt: at(3, 30, 3) };

/** The corrected next runs of `lists`; undefined: the stored ones stay. */
function correctedLists(stored: NextRuns | undefined, next: NextRuns): NextRuns | undefined {
  const found = new Map(stored === undefined ? [] : [['lists', { ...stored, paused: false }] as const]);
  return correctedRuns(['lists'], found, () => next).get('lists');
}

describe('a stored next run', () => {
  it('stays where its moment came while nobody ran, and where it is still to come', () => {
    expect(correctedLists({ nextPollAt: at(1, 0), nextFullAt: at(3, 30, 1) }, line)).toBeUndefined();
    expect(correctedLists({ nextPollAt: at(3, 11), nextFullAt: at(3, 30) }, line)).toBeUndefined();
  });

  it('is never later than the line’s next run: it came from another line, or a clock went back', () => {
    expect(correctedLists({ nextPollAt: at(3, 11, 9), nextFullAt: at(3, 30, 9) }, line)).toEqual(line);
  });

  it('is there from the start, and is removed where the line says never', () => {
    expect(correctedLists(undefined, line)).toEqual(line);
    const never: NextRuns = { nextPollAt: null, nextFullAt: null };
    expect(correctedLists({ nextPollAt: at(1, 0), nextFullAt: at(1, 0) }, never)).toEqual(never);
  });

  it('is stored again where the collection was paused', () => {
    const stored = new Map([['lists', { ...line, paused: true }]]);
    expect(correctedRuns(['lists'], stored, () => line).get('lists')).toEqual(line);
  });
});

describe('the schedule', () => {
  const schedule = createSchedule(
    loadConfig(
      { MIRROR_API_URL: 'https://api.example', MIRROR_API_KEY: 'k', MIRROR_FULL_CRON: '@daily' },
      'service',
    ),
  );
  const users = Array.from({ length: 200 }, (_, user) => String(user));

  it('spreads full walks over the hour after their line, each account always at its own moment', () => {
    const moments = users.map((user) => schedule.after(user, 'lists', at(12, 0)).nextFullAt?.getTime() ?? 0);
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(at(0, 0, 3).getTime());
    expect(Math.max(...moments)).toBeLessThan(at(1, 0, 3).getTime());
    expect(new Set(moments).size).toBeGreaterThan(190);
    const again = (hour: number): Date | null => schedule.after('7', 'lists', at(hour, 0)).nextFullAt;
    expect(again(13)).toEqual(again(14));
  });

  it('spreads polls over three quarters of their minute, and each account keeps its second', () => {
    const moments = users.map((user) => schedule.after(user, 'lists', at(12, 0)).nextPollAt?.getTime() ?? 0);
    expect(Math.min(...moments)).toBeGreaterThan(at(12, 0).getTime());
    expect(Math.max(...moments)).toBeLessThan(at(12, 1).getTime() + 45_000);
    for (const quarter of [0, 1, 2]) {
      const within = moments.filter((moment) => Math.floor((moment % 60_000) / 15_000) === quarter);
      expect(within.length).toBeGreaterThan(40);
    }
    for (const [index, user] of users.entries()) {
      const next = schedule.after(user, 'lists', new Date(moments[index] ?? 0)).nextPollAt;
      expect(next?.getTime()).toBe((moments[index] ?? 0) + 60_000);
    }
  });

  it('does not skip an account whose place comes after the moment of its line', () => {
    for (const user of users) {
      const scheduledRuns = schedule.after(user, 'lists', at(23, 0)).nextFullAt ?? at(0, 0);
      const before = new Date(scheduledRuns.getTime() - 1);
      expect(schedule.after(user, 'lists', before).nextFullAt).toEqual(scheduledRuns);
      expect(schedule.after(user, 'lists', scheduledRuns).nextFullAt?.getTime()).toBe(
        scheduledRuns.getTime() + 86_400_000,
      );
    }
  });

  it('has no run later than its latest', () => {
    for (const now of [at(0, 20), at(12, 0), at(23, 59)]) {
      const latest = schedule.latest('lists', now);
      for (const user of users) {
        const { nextPollAt, nextFullAt } = schedule.after(user, 'lists', now);
        expect(nextPollAt?.getTime()).toBeLessThanOrEqual(latest.nextPollAt?.getTime() ?? 0);
        expect(nextFullAt?.getTime()).toBeLessThanOrEqual(latest.nextFullAt?.getTime() ?? 0);
      }
    }
  });
});
