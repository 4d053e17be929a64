import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SANDBOX_SWITCHES, type SandboxOptions } from '../switches/sandbox-switches.ts';
import { requestCounter, WINDOW_MS } from './request-counter.ts';

const KINDS = (SANDBOX_SWITCHES.limiter.choices ?? []) as readonly SandboxOptions['limiter'][];
const START = 1_000_000;

const limits = fc.integer({ min: 1, max: 20 });
const wait = fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 5000 }), fc.nat({ max: 70_000 }));
const waits = fc.array(wait, { minLength: 1, maxLength: 200 });

describe.each(KINDS)('the limiter %s', (kind) => {
  it('accepts the whole limit at first, and at most twice the limit in any 60 s: a sliding log the limit, always', () => {
    fc.assert(
      fc.property(limits, waits, (limit, script) => {
        const counter = requestCounter(kind);
        const accepted: number[] = [];
        const within = (from: number, to: number): number => accepted.filter((at) => at > from && at < to).length;
        let now = START;
        for (const each of [...Array.from({ length: limit + 1 }, () => 0), ...script]) {
          now += each;
          const isFree = counter(limit, now).free > 0;
          if (kind === 'sliding-log') expect(isFree).toBe(within(now - WINDOW_MS, now + 1) < limit);
          if (!isFree) continue;
          counter(limit, now).count();
          accepted.push(now);
        }
        expect(within(START - 1, START + 1)).toBeGreaterThanOrEqual(limit);
        for (const from of accepted) expect(within(from - 1, from + WINDOW_MS)).toBeLessThanOrEqual(2 * limit);
      }),
    );
  });

  it('accepts a request after the wait that it gives, and not a millisecond earlier', () => {
    fc.assert(
      fc.property(limits, waits, (limit, script) => {
        const counter = requestCounter(kind);
        let now = START;
        for (const each of script) {
          now += each;
          if (counter(limit, now).free > 0) {
            expect(counter(limit, now).acceptsIn).toBeLessThan(1e-6);
            counter(limit, now).count();
            continue;
          }
          const until = now + counter(limit, now).acceptsIn;
          expect(until).toBeGreaterThan(now);
          if (until - 1 > now) expect(counter(limit, until - 1).free).toBe(0);
          now = Math.ceil(until + 1e-3);
          expect(counter(limit, now).free).toBeGreaterThan(0);
        }
      }),
    );
  });
});
