import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SANDBOX_SWITCHES, type SandboxOptions } from '../switches/sandbox-switches.ts';
import { meter, WINDOW_MS } from './meter.ts';

const KINDS = (SANDBOX_SWITCHES.limiter.choices ?? []) as readonly SandboxOptions['limiter'][];

/** Asks at each moment; counts what is accepted. */
function accepted(kind: SandboxOptions['limiter'], limit: number, waits: readonly number[]): number[] {
  const subject = meter(kind);
  const moments: number[] = [];
  let now = 1_000_000;
  for (const wait of waits) {
    now += wait;
    if (subject.free(limit, now) === 0) continue;
    subject.count(limit, now);
    moments.push(now);
  }
  return moments;
}

function mostInAnyWindow(moments: readonly number[]): number {
  return moments.reduce(
    (most, from) => Math.max(most, moments.filter((at) => at >= from && at < from + WINDOW_MS).length),
    0,
  );
}

const waits = fc.array(fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 5000 }), fc.nat({ max: 70_000 })), {
  minLength: 1,
  maxLength: 200,
});
const limits = fc.integer({ min: 1, max: 20 });

describe('a sliding log', () => {
  it('accepts in no 60 s more than the limit, and refuses only when the last 60 s are full', () => {
    fc.assert(
      fc.property(limits, waits, (limit, script) => {
        const moments = accepted('sliding-log', limit, script);
        expect(mostInAnyWindow(moments)).toBeLessThanOrEqual(limit);
        let now = 1_000_000;
        for (const wait of script) {
          now += wait;
          const before = moments.filter((at) => at > now - WINDOW_MS && at < now).length;
          if (before < limit) expect(moments).toContain(now);
        }
      }),
    );
  });
});

describe.each(KINDS)('the limiter %s', (kind) => {
  it('accepts in no 60 s more than twice the limit, and the limit from the beginning', () => {
    fc.assert(
      fc.property(limits, waits, (limit, script) => {
        const moments = accepted(kind, limit, [...Array.from({ length: limit + 1 }, () => 0), ...script]);
        expect(moments.filter((at) => at === 1_000_000).length).toBeGreaterThanOrEqual(limit);
        expect(mostInAnyWindow(moments)).toBeLessThanOrEqual(2 * limit);
      }),
    );
  });

  it('accepts a request after the wait that it names, and not a millisecond earlier', () => {
    fc.assert(
      fc.property(limits, waits, (limit, script) => {
        const subject = meter(kind);
        let now = 1_000_000;
        for (const wait of script) {
          now += wait;
          if (subject.free(limit, now) > 0) {
            expect(subject.acceptsIn(limit, now)).toBeLessThan(1e-6);
            subject.count(limit, now);
            continue;
          }
          const until = now + subject.acceptsIn(limit, now);
          expect(until).toBeGreaterThan(now);
          if (until - 1 > now) expect(subject.free(limit, until - 1)).toBe(0);
          now = Math.ceil(until + 1e-3);
          expect(subject.free(limit, now)).toBeGreaterThan(0);
        }
      }),
    );
  });
});
