import { describe, expect, it } from 'vitest';
import { type LearntChanges, NOTHING_LEARNT } from '../../plan/learnt-changes.ts';
import type { CollectionChange } from '../../mirror/scope/walk-end.ts';
import { EarlyRuns, type RunsAfter } from './early-runs.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOON = new Date(Date.UTC(2026, 0, 1, 12));

/** A line of each minute. */
const eachMinute: RunsAfter = (_, after) => ({
  nextPollAt: new Date(Math.floor(after.getTime() / MINUTE + 1) * MINUTE),
  nextFullAt: null,
});
/** Each so many minutes, on the clock. */
const eachMinutes =
  (minutes: number): RunsAfter =>
  (_, after) => ({
    nextPollAt: new Date((Math.floor(after.getTime() / MINUTE / minutes) + 1) * minutes * MINUTE),
    nextFullAt: null,
  });
/** Each minute from noon on until half past twelve, the next day again. */
const atNoon: RunsAfter = (_, after) => {
  const next = eachMinute('account', after).nextPollAt?.getTime() ?? 0;
  const day = Math.floor(next / HOUR / 24) * HOUR * 24;
  const from = day + 12 * HOUR;
  const at = next < from ? from : next > from + HOUR / 2 ? from + 24 * HOUR : next;
  return { nextPollAt: new Date(at), nextFullAt: null };
};
const CLOCK = { now: () => NOON.getTime() + 500 };
const never: RunsAfter = () => ({ nextPollAt: null, nextFullAt: null });

const resting = { readsBelowPolls: (): boolean => false };
const walking = { readsBelowPolls: (): boolean => true };

const busy: LearntChanges = { changes: 120, announced: 0, watchedMs: 8 * HOUR, cost: 1 };

function nextPoll(
  learnt: LearntChanges,
  perMinute = 48,
  line = eachMinute,
  began = NOON,
): number | undefined {
  const runs = new EarlyRuns(CLOCK, { sizeOf: () => perMinute }, line, resting);
  runs.note('research_jobs', learnt);
  const next = runs.after('research_jobs', began, new Date(began.getTime() + 500)).nextPollAt;
  return next === null ? undefined : next.getTime() - began.getTime();
}

describe('the next poll', () => {
  it('is the line’s where little happens, or where nothing is known', () => {
    expect(nextPoll(NOTHING_LEARNT)).toBe(MINUTE);
    const runs = new EarlyRuns(CLOCK, { sizeOf: () => 48 }, eachMinute, resting);
    expect(runs.after('lists', NOON, NOON).nextPollAt).toEqual(new Date(NOON.getTime() + MINUTE));
  });

  it('comes sooner where changes are likely, and not before two seconds', () => {
    expect(nextPoll(busy)).toBeGreaterThan(4_000);
    expect(nextPoll(busy)).toBeLessThan(6_000);
    expect(nextPoll({ ...busy, changes: 1e6 }, 1_000)).toBe(2_000);
  });

  it('is the line’s where events announce the changes, where no request is free, and never where the line is never', () => {
    expect(nextPoll({ ...busy, announced: 120 })).toBe(MINUTE);
    expect(nextPoll(busy, 1)).toBe(MINUTE);
    expect(nextPoll(busy, 48, never)).toBeUndefined();
  });

  it('is the line’s where that is slower than five minutes, for good or for hours', () => {
    expect(nextPoll(busy, 48, eachMinutes(5))).toBeLessThan(6_000);
    expect(nextPoll(busy, 48, eachMinutes(6))).toBe(6 * MINUTE);
    expect(nextPoll(busy, 48, eachMinutes(60), new Date(NOON.getTime() - MINUTE))).toBe(MINUTE);
    const noon = (minute: number): number | undefined =>
      nextPoll(busy, 48, atNoon, new Date(NOON.getTime() + minute * MINUTE));
    expect(noon(1)).toBeLessThan(6_000);
    expect(noon(30)).toBe(23.5 * HOUR);
  });

  it('comes sooner after polls alone: full walks, of a list without known order, would follow each other', () => {
    const runs = new EarlyRuns(CLOCK, { sizeOf: () => 48 }, eachMinute, resting);
    runs.note('research_jobs', busy);
    const nextAfter = (reading: (asOf: Date, began: Date) => CollectionChange): number =>
      (reading(NOON, NOON).nextPollAt?.getTime() ?? 0) - NOON.getTime();
    expect(nextAfter(runs.onPoll('research_jobs'))).toBeLessThan(6_000);
    const at = NOON.getTime() + 6_000;
    expect([runs.isEarly('research_jobs', at), runs.isEarly('lists', at)]).toEqual([true, false]);
    // The line's own run is none before it.
    expect(runs.isEarly('research_jobs', NOON.getTime() + MINUTE)).toBe(false);
    expect(nextAfter(runs.onRead('research_jobs', 'poll'))).toBe(MINUTE);
    expect(nextAfter(runs.onRead('research_jobs', 'full'))).toBe(MINUTE);
  });

  it('takes of the others’ requests what their own lines need, and of lists what theirs needs', () => {
    const lines: RunsAfter = (name, after) =>
      name === 'list_items'
        ? eachMinutes(2)(name, after)
        : name === 'lists'
          ? never(name, after)
          : eachMinute(name, after);
    const intervalWith = (note: (runs: EarlyRuns) => void, turns = resting): number => {
      const runs = new EarlyRuns(CLOCK, { sizeOf: () => 10 }, lines, turns);
      runs.note('research_jobs', busy);
      note(runs);
      const next = runs.after('research_jobs', NOON, new Date(NOON.getTime() + 500)).nextPollAt;
      return (next?.getTime() ?? 0) - NOON.getTime();
    };
    // 10 a minute, of which 1 is its own line's: with most of the other 9.
    const alone = MINUTE / (1 + 0.95 * 9);
    expect(intervalWith(() => {})).toBeCloseTo(alone, -1);
    expect(intervalWith(() => {}, walking)).toBeCloseTo(MINUTE / (1 + 0.5 * 9), -1);
    const quiet = { ...NOTHING_LEARNT, watchedMs: 1e12, cost: 4 };
    expect(intervalWith((runs) => runs.note('lists', quiet))).toBeCloseTo(alone, -1);
    expect(intervalWith((runs) => runs.note('watchlist', quiet))).toBeCloseTo(MINUTE / (1 + 0.95 * 5), -1);
    // Two lists each two minutes, of four pages each: 4 requests a minute.
    const large = (runs: EarlyRuns): void => {
      runs.noteLists('list_items', 2);
      runs.noteCostOfLists(4);
    };
    expect(intervalWith(large)).toBeCloseTo(MINUTE / (1 + 0.95 * 5), -1);
    // More than half of what there is, and their need is greater.
    const many = (runs: EarlyRuns): void => {
      runs.noteLists('list_items', 800);
      runs.noteNeedOfLists(1);
    };
    expect(intervalWith(many)).toBeGreaterThan(MINUTE / 1.1);
  });
});
