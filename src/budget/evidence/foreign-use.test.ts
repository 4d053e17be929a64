import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ForeignUse, headroom } from './foreign-use.ts';
import { FOREIGN_MEMORY_MS } from '../slots/timing.ts';

it('use by others is the highest value of the last 65 s', () => {
  const after = fc.integer({ min: 0, max: 30_000 });
  const samples = fc.array(fc.tuple(after, fc.integer({ min: -5, max: 60 })), { minLength: 1 });
  fc.assert(
    fc.property(samples, (script) => {
      const foreign = new ForeignUse();
      const seen: { at: number; use: number }[] = [];
      let at = 0;
      for (const [passed, use] of script) {
        at += passed;
        foreign.observe(at, use);
        seen.push({ at, use });
        const recent = seen.filter((each) => each.at + FOREIGN_MEMORY_MS > at).map((each) => each.use);
        expect(foreign.highest(at)).toBe(Math.max(0, ...recent));
      }
    }),
  );
});

it('what is left to others is twice the deviation of their use and one more; one slot where it is one for two windows', () => {
  expect([0, 1, 4, 30].map((use) => headroom(use))).toEqual([0, 4, 9, 42]);
  // The service counts so.
  expect([headroom(1, 0), headroom(1, 1), headroom(1, 2), headroom(2, 0)]).toEqual([1, 1, 4, 3]);
});

it('what is left to others is one more where two windows did not differ, unless nobody saw it for a window', () => {
  const foreign = new ForeignUse();
  const left = (at: number, use = 30): number => {
    foreign.observe(at, use);
    return foreign.headroom(at);
  };
  for (let at = 0; at < 119_000; at += 7_000) left(at);
  expect(foreign.headroom(119_000)).toBe(42);
  expect([left(121_000), left(122_000, 33)]).toEqual([31, 33 + 3 + 1]);
  const gap = new ForeignUse();
  for (let at = 0; at <= 130_000; at += 10_000) gap.observe(at, 30);
  expect(gap.headroom(130_000)).toBe(31);
  gap.observe(196_000, 30);
  expect(gap.headroom(196_000)).toBe(42);
});
