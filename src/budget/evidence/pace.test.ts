import { expect, it } from 'vitest';
import { Pace } from './pace.ts';
import { GUARD_MS, LESSON_MEMORY_MS, WIDEST_GUARD_MS } from '../slots/timing.ts';

/** A pace that has had its first lesson, of a limit of 60. */
function taught(): Pace {
  const pace = new Pace();
  pace.learn(60, 0);
  return pace;
}

it('spaces evenly, below the limit by a thirtieth, slower where answers take long, and is tried without after a day', () => {
  expect(new Pace().intervalMs(0, 0)).toBeUndefined();
  const pace = taught();
  expect(pace.intervalMs(0, 0)).toBeCloseTo(60_000 / 58);
  expect(pace.guardMs(0)).toBeGreaterThan(GUARD_MS);
  // Slots come free no sooner.
  expect(pace.intervalMs(0, 5_000)).toBeCloseTo((60_000 + GUARD_MS + 5_000) / 59);
  expect(pace.intervalMs(LESSON_MEMORY_MS, 0)).toBeUndefined();
  expect(pace.guardMs(LESSON_MEMORY_MS)).toBe(GUARD_MS);
});

it('makes up for a turn that came without a free slot, by one interval at most', () => {
  const pace = taught();
  const interval = pace.intervalMs(0, 0) ?? NaN;
  pace.sent(0, 0);
  expect(pace.turnAt).toBe(interval);
  pace.sent(interval + 300, 0);
  expect(pace.turnAt).toBeCloseTo(2 * interval);
  pace.sent(10_000, 0);
  pace.sent(10_000, 0);
  expect(pace.turnAt).toBeCloseTo(10_000 + interval);
});

it('makes up for no pause', () => {
  const pace = taught();
  pace.sent(0, 0);
  pace.pauseUntil(5_000);
  expect(pace.turnAt).toBe(5_000);
  pace.sent(5_000, 0);
  expect(pace.turnAt).toBeCloseTo(5_000 + (pace.intervalMs(0, 0) ?? NaN));
});

it('is a little slower after a second lesson, counts from the answers after a third, and slows down from then on, within bounds', () => {
  const pace = new Pace();
  const lessons = [0, 1, 2, 3].map((now) => pace.learn(60, now));
  expect(lessons.map((each) => [each.limit, each.fromAnswer])).toEqual([
    [60, false],
    [57, false],
    [54, true],
    [48, true],
  ]);
  for (let i = 0; i < 100; i++) pace.learn(60, 0);
  expect([pace.lesson(0)?.limit, pace.intervalMs(0, 0), pace.guardMs(0)]).toEqual([
    1,
    60_250,
    WIDEST_GUARD_MS,
  ]);
});
