import { describe, expect, it } from 'vitest';
import { type LearntChanges, NOTHING_LEARNT } from '../../plan/learnt-changes.ts';
import { EarlyRuns, type RunsAfter } from './early-runs.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOON = new Date(Date.UTC(2026, 0, 1, 12));

/** A line of each minute. */
const eachMinute: RunsAfter = (_, after) => ({
  nextPollAt: new Date(Math.floor(after.getTime() / MINUTE + 1) * MINUTE),
  nextFullAt: null,
});
const never: RunsAfter = () => ({ nextPollAt: null, nextFullAt: null });

const busy: LearntChanges = { changes: 600, announced: 0, watchedMs: 8 * HOUR, cost: 1 };

function nextPoll(learnt: LearntChanges, perMinute = 48, line = eachMinute): number | undefined {
  const runs = new EarlyRuns({ sizeOf: () => perMinute }, line);
  runs.note('research_jobs', learnt, undefined);
  const next = runs.after('research_jobs', NOON, new Date(NOON.getTime() + 500)).nextPollAt;
  return next === null ? undefined : next.getTime() - NOON.getTime();
}

describe('the next poll', () => {
  it('is the line’s where little happens, or where nothing is known', () => {
    expect(nextPoll(NOTHING_LEARNT)).toBe(MINUTE);
    const runs = new EarlyRuns({ sizeOf: () => 48 }, eachMinute);
    expect(runs.after('lists', NOON, NOON).nextPollAt).toEqual(new Date(NOON.getTime() + MINUTE));
  });

  it('comes sooner where changes are likely, and not before two seconds', () => {
    expect(nextPoll(busy)).toBeGreaterThan(4_000);
    expect(nextPoll(busy)).toBeLessThan(6_000);
    expect(nextPoll({ ...busy, changes: 1e6 }, 1_000)).toBe(2_000);
  });

  it('is the line’s where events announce the changes, where no request is free, and never where the line is never', () => {
    expect(nextPoll({ ...busy, announced: 600 })).toBe(MINUTE);
    expect(nextPoll(busy, 1)).toBe(MINUTE);
    expect(nextPoll(busy, 48, never)).toBeUndefined();
  });
});
