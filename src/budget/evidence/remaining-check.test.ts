import { describe, expect, it } from 'vitest';
import { RemainingCheck } from './remaining-check.ts';

/** Judges samples in turn and says which one was found broken. */
function judge(
  samples: readonly { at: number; remaining: number; foreign?: number }[],
  cameFree: () => boolean = () => false,
): number {
  const check = new RemainingCheck();
  return samples.findIndex((sample) => check.isBroken({ foreign: 0, ...sample }, cameFree));
}

const burst = [0, 1, 2, 3, 4, 5].map((i) => ({ at: i * 100, remaining: 0 }));

describe('Remaining', () => {
  it('is broken when five requests within a second do not move it', () => {
    expect(judge(burst)).toBe(4);
  });

  it('is honest when slots of ours may have come free meanwhile', () => {
    expect(judge(burst, () => true)).toBe(-1);
  });

  it('is honest when it moves', () => {
    expect(judge(burst.map((each, i) => ({ ...each, remaining: 60 - i })))).toBe(-1);
  });

  it('that moved before is honest though a burst does not move it: others’ slots come free meanwhile', () => {
    expect(judge([{ at: -1_000, remaining: 1 }, ...burst])).toBe(-1);
  });

  it('is broken when it claims use by others for more than two windows and never moves', () => {
    const still = [0, 1, 2, 3, 4, 5].map((i) => ({ at: i * 30_000, remaining: 4, foreign: 55 }));
    expect(judge(still)).toBe(5);
    expect(judge(still.map((each) => ({ ...each, foreign: 0 })))).toBe(-1);
  });

  it('that moved before is broken when it stays although our own use changes, and not beside even use', () => {
    const before = { at: -1_000, remaining: 30, foreign: 3 };
    const even = [0, 1, 2, 3, 4, 5].map((i) => ({ at: i * 30_000, remaining: 4, foreign: 25 }));
    expect(judge([before, ...even])).toBe(-1);
    expect(judge([before, ...even, { at: 180_000, remaining: 4, foreign: 22 }])).toBe(7);
  });

  it('that stays leaves us requests again: else nothing would find it broken', () => {
    const check = new RemainingCheck();
    check.refused();
    expect(check.tested).toBe(true);
    for (let i = 0; i < 6; i++) check.isBroken({ at: i * 30_000, remaining: 0, foreign: 59 }, () => false);
    expect(check.tested).toBe(false);
  });

  it('of 0 is honest while 429s confirm it, and broken when twelve requests over more than two windows do not', () => {
    const check = new RemainingCheck();
    check.refused();
    const zeros = Array.from({ length: 40 }, (_, i) => ({
      at: i * 20_000,
      remaining: 0,
      foreign: 55 + (i % 5),
    }));
    const broken = zeros.map((each, i) => {
      if (i % 10 === 0) check.refused();
      return check.isBroken(each, () => false);
    });
    expect(broken).not.toContain(true);
    check.refused();
    expect(zeros.findIndex((each) => check.isBroken(each, () => false))).toBe(11);
  });
});
