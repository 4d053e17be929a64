import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Pulse } from './pulse.ts';

const pulses = fc
  .record({
    since: fc.integer({ min: 0, max: 2_000_000_000_000 }),
    perMinute: fc.double({ min: 0.001, max: 5000, noNaN: true }),
    phase: fc.double({ min: 0, max: 0.999, noNaN: true }),
  })
  .map(({ since, perMinute, phase }) => ({ since, pulse: new Pulse(since, perMinute, phase) }));

describe('a pulse', () => {
  it('has counted an event from the moment of the event on, and not before', () => {
    fc.assert(
      fc.property(pulses, fc.nat({ max: 1_000_000 }), ({ pulse, since }, number) => {
        const at = pulse.at(number);
        expect(pulse.count(at)).toBeGreaterThan(number);
        if (at > since) expect(pulse.count(at - 1)).toBeLessThanOrEqual(number);
      }),
    );
  });

  it('names the next event as the first moment at which the count rises', () => {
    fc.assert(
      fc.property(pulses, fc.nat({ max: 100_000_000 }), ({ pulse, since }, later) => {
        const next = pulse.next(since + later);
        expect(next).toBeGreaterThan(since + later);
        expect(pulse.count(next - 1)).toBe(pulse.count(since + later));
        expect(pulse.count(next)).toBeGreaterThan(pulse.count(since + later));
      }),
    );
  });

  it('never beats at rate 0', () => {
    const never = new Pulse(0, 0, 0.5);
    expect(never.count(1e15)).toBe(0);
    expect(never.next(1e15)).toBe(Infinity);
  });
});
