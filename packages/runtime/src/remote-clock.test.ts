import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RemoteClock } from './remote-clock.ts';

/** With fractions, as monotonic clocks tell them. */
function milliseconds(max: number): fc.Arbitrary<number> {
  return fc.nat(max * 64).map((parts) => parts / 64);
}

/** Of one question: how long after the one before it, and how long each way took. */
const QUESTION = fc.record({ after: milliseconds(5_000), there: milliseconds(300), back: milliseconds(300) });

describe('a remote clock', () => {
  it('is unknown before the first answer', () => {
    expect(new RemoteClock().at(5)).toBeUndefined();
  });

  it('is never early, never goes back, and is late by the shortest round trip at most', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e9, max: 1e9 }), fc.array(QUESTION, { minLength: 1 }), (ahead, questions) => {
        const clock = new RemoteClock();
        let now = 0;
        let shortest = Number.POSITIVE_INFINITY;
        let latest = Number.NEGATIVE_INFINITY;
        for (const { after, there, back } of questions) {
          const askedAt = now + after;
          now = askedAt + there + back;
          clock.observe(askedAt + there + ahead, askedAt, now);
          shortest = Math.min(shortest, there + back);
          const time = clock.at(now) ?? Number.NaN;
          expect(time).toBeGreaterThanOrEqual(latest);
          expect(now + ahead - time).toBeGreaterThanOrEqual(0);
          expect(now + ahead - time).toBeLessThan(shortest + 1);
          expect(Number.isInteger(time)).toBe(true);
          latest = time;
        }
      }),
    );
  });

  it('follows a remote clock that is set', () => {
    const clock = new RemoteClock();
    clock.observe(1_000_000, 0, 10);
    clock.observe(500_000, 100, 110);
    expect(clock.at(110)).toBe(500_010);
    clock.observe(2_000_000, 200, 230);
    expect(clock.at(230)).toBe(2_000_000);
  });

  it('tells that the clock was set, and by how much, whatever time the questions took', () => {
    const clock = new RemoteClock();
    expect(clock.stepAt(1_000, 0, 5)).toBe(0);
    clock.observe(1_000, 0, 0);
    // Asked at 10 s, answered at 40 s: in between it showed 11 to 41 s, and two clocks drift.
    const asked = (time: number): number => clock.stepAt(time, 10_000, 40_000);
    expect([asked(11_000), asked(41_000), asked(-4_000), asked(56_000)]).toEqual([0, 0, 0, 0]);
    expect([asked(-4_001), asked(56_001), asked(-3_589_000)]).toEqual([-15_001, 15_001, -3_600_000]);
  });
});
