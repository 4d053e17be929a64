import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SANDBOX_SWITCHES, type SandboxOptions } from '../switches/sandbox-switches.ts';
import { requestCounter, WINDOW_MS } from './request-counter.ts';

const KINDS = (SANDBOX_SWITCHES.limiter.choices ?? []) as readonly SandboxOptions['limiter'][];

/** Asks at each moment; counts what is accepted. */
function accepted(kind: SandboxOptions['limiter'], limit: number, waits: readonly number[]): number[] {
  const snapshot = requestCounter(kind);
  const moments: number[] = [];
  let now = 1_000_000;
  for (const wait of waits) {
    now += wait;
    if (snapshot.free(limit, now) === 0) continue;
    snapshot.count(limit, now);
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
  it('accepts at most the limit in any 60 s, and refuses only when the last 60 s are full', () => {
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
  it('accepts at most twice the limit in any 60 s, and the whole limit at first', () => {
    fc.assert(
      fc.property(limits, waits, (limit, script) => {
        const moments = accepted(kind, limit, [...Array.from({ length: limit + 1 }, () => 0), ...script]);
        expect(moments.filter((at) => at === 1_000_000).length).toBeGreaterThanOrEqual(limit);
        expect(mostInAnyWindow(moments)).toBeLessThanOrEqual(2 * limit);
      }),
    );
  });

  it('accepts a request after the wait that it gives, and not a millisecond earlier', () => {
    fc.assert(
      fc.property(limits, waits, (limit, script) => {
        const snapshot = requestCounter(kind);
        let now = 1_000_000;
        for (const wait of script) {
          now += wait;
          if (snapshot.free(limit, now) > 0) {
            expect(snapshot.acceptsIn(limit, now)).toBeLessThan(1e-6);
            snapshot.count(limit, now);
            continue;
          }
          const until = now + snapshot.acceptsIn(limit, now);
          expect(until).toBeGreaterThan(now);
          if (until - 1 > now) expect(snapshot.free(limit, until - 1)).toBe(0);
          now = Math.ceil(until + 1e-3);
          expect(snapshot.free(limit, now)).toBeGreaterThan(0);
        }
      }),
    );
  });
});
