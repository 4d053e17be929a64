import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OtherUsers } from './group-budget.ts';

const T = 1_000_000;

describe('others’ use of a key', () => {
  it('is the highest of the last 65 s, as a plain list has it', () => {
    const step = fc.record({
      afterMs: fc.integer({ min: 0, max: 30_000 }),
      use: fc.integer({ min: -5, max: 60 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const others = new OtherUsers();
        const seen: { at: number; use: number }[] = [];
        let now = T;
        for (const [index, { afterMs, use }] of steps.entries()) {
          now += afterMs;
          // No value stays: `Remaining` differs from the one before.
          others.observe(100 + use + index, 100 + index, 0, now);
          seen.push({ at: now, use });
          const recent = seen.filter(({ at }) => at + 65_000 > now).map((each) => Math.max(0, each.use));
          expect(others.highest(now)).toBe(Math.max(...recent));
        }
      }),
    );
  });

  it.each([
    [0, 0],
    [1, 3],
    [9, 13],
    [30, 37],
  ])('of %i leaves them %i slots: a margin for their next window', (use, headroom) => {
    const others = new OtherUsers();
    others.observe(60, 60 - use, 0, T);
    expect(others.headroom(T)).toBe(headroom);
    expect(others.headroom(T + 65_000)).toBe(0);
  });
});

/** Answers each 12 s with these values of `Remaining`, beside our own use. @returns whether it is ignored */
function ignored(values: readonly (readonly [remaining: number, ours: number] | '429')[]): boolean {
  const others = new OtherUsers();
  return values
    .map((value, index) => {
      if (value !== '429') return others.observe(60, value[0], value[1], T + index * 12_000);
      others.refused();
      return false;
    })
    .includes(true);
}

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

describe('a Remaining that stays for two windows', () => {
  it('at 0 is ignored', () => {
    expect(ignored(times(10, [0, 5]))).toBe(false);
    expect(ignored(times(11, [0, 5]))).toBe(true);
  });

  it('at another value is ignored where our own use changed meanwhile: even use of others leaves it where it is', () => {
    expect(ignored(times(20, [4, 5]))).toBe(false);
    expect(ignored([[4, 2], ...times(10, [4, 5] as const)])).toBe(true);
  });

  it('counts from each 429: somebody who takes every slot leaves it at 0', () => {
    expect(ignored([...times(10, [0, 5] as const), '429', ...times(10, [0, 5] as const)])).toBe(false);
  });

  it('is not ignored while it says that nobody else uses the key', () => {
    expect(ignored(times(30, [0, 60]))).toBe(false);
  });

  it('is ignored for a further hour where it was never above that, though it moves', () => {
    const others = new OtherUsers();
    for (let index = 0; index <= 10; index++) others.observe(60, 4, index < 1 ? 1 : 5, T + index * 12_000);
    const until = others.ignoredUntil;
    expect(others.observe(60, 4, 30, until)).toBe(true);
    expect(others.ignoredUntil).toBe(until + 3_600_000);
    expect(others.observe(60, 2, 60, until + 3_600_000)).toBe(false);
    expect(others.observe(60, 2, 57, until + 3_600_000)).toBe(true);
    expect(others.observe(60, 4, 55, until + 7_200_000)).toBe(true);
    others.observe(60, 5, 55, until + 7_200_001);
    expect(others.observe(60, 4, 30, until + 10_800_000)).toBe(false);
    expect(others.highest(until + 10_800_000)).toBe(26);
  });

  it('is ignored for an hour, and shows nobody meanwhile', () => {
    const others = new OtherUsers();
    for (let index = 0; index <= 10; index++) others.observe(60, 0, 5, T + index * 12_000);
    const at = T + 120_000;
    expect([others.highest(at), others.ignoredUntil]).toEqual([0, at + 3_600_000]);
    others.observe(60, 10, 5, at + 3_599_999);
    expect(others.highest(at + 3_599_999)).toBe(0);
    others.observe(60, 10, 5, at + 3_600_000);
    expect(others.highest(at + 3_600_000)).toBe(45);
  });
});
