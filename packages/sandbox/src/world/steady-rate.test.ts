import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SteadyRate } from './steady-rate.ts';

const rates = fc
  .record({
    since: fc.integer({ min: 0, max: 2_000_000_000_000 }),
    perMinute: fc.double({ min: 0.001, max: 5000, noNaN: true }),
    phase: fc.double({ min: 0, max: 0.999, noNaN: true }),
  })
  .map(({ since, perMinute, phase }) => ({ since, rate: new SteadyRate(since, perMinute, phase) }));

describe('a steady rate', () => {
  it('counts a change from the time of the change on', () => {
    fc.assert(
      fc.property(rates, fc.nat({ max: 1_000_000 }), ({ rate, since }, number) => {
        const at = rate.at(number);
        expect(rate.count(at)).toBeGreaterThan(number);
        if (at > since) expect(rate.count(at - 1)).toBeLessThanOrEqual(number);
      }),
    );
  });

  it('gives the next change as the first time at which the count rises', () => {
    fc.assert(
      fc.property(rates, fc.nat({ max: 100_000_000 }), ({ rate, since }, later) => {
        const next = rate.next(since + later);
        expect(next).toBeGreaterThan(since + later);
        expect(rate.count(next - 1)).toBe(rate.count(since + later));
        expect(rate.count(next)).toBeGreaterThan(rate.count(since + later));
      }),
    );
  });

  it('has no changes at rate 0', () => {
    const never = new SteadyRate(0, 0, 0.5);
    expect(never.count(1e15)).toBe(0);
    expect(never.next(1e15)).toBe(Infinity);
  });
});
