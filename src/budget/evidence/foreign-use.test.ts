import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ForeignUse, headroom } from './foreign-use.ts';
import { FOREIGN_MEMORY_MS } from '../slots/timing.ts';

describe('use by others', () => {
  it('is the highest value of the last 65 s', () => {
    const sample = fc.record({
      after: fc.integer({ min: 0, max: 30_000 }),
      use: fc.integer({ min: -5, max: 60 }),
    });
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1 }), (samples) => {
        const foreign = new ForeignUse();
        const seen: { at: number; use: number }[] = [];
        let at = 0;
        for (const { after, use } of samples) {
          at += after;
          foreign.observe(at, use);
          seen.push({ at, use });
          const recent = seen.filter((each) => each.at + FOREIGN_MEMORY_MS > at).map((each) => each.use);
          expect(foreign.highest(at)).toBe(Math.max(0, ...recent));
        }
      }),
    );
  });

  it('is left to them with twice its deviation and one more', () => {
    expect([0, 1, 4, 30].map((use) => headroom(use))).toEqual([0, 4, 9, 42]);
  });

  it('is left to them with one more where two windows did not differ', () => {
    const foreign = new ForeignUse();
    for (let at = 0; at < 119_000; at += 7_000) foreign.observe(at, 30);
    expect(foreign.headroom(119_000)).toBe(42);
    foreign.observe(121_000, 30);
    expect(foreign.headroom(121_000)).toBe(31);
    foreign.observe(122_000, 33);
    expect(foreign.headroom(122_000)).toBe(33 + 3 + 1);
  });

  it('is not steady across a gap of more than a window and an answer, in which nobody saw it', () => {
    const foreign = new ForeignUse();
    for (let at = 0; at <= 130_000; at += 10_000) foreign.observe(at, 30);
    expect(foreign.headroom(130_000)).toBe(31);
    foreign.observe(196_000, 30);
    expect(foreign.headroom(196_000)).toBe(42);
  });

  it('is one slot where it is one for two windows: the service counts so', () => {
    expect([headroom(1, 0), headroom(1, 1), headroom(1, 2), headroom(2, 0)]).toEqual([1, 1, 4, 3]);
  });
});
