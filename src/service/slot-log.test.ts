import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IN_USE_MS, SlotLog, UNANSWERED_MS, WINDOW_MS } from './slots.ts';

const T = 1_000_000;

describe('a sliding log', () => {
  it('counts like a plain list, whatever was sent, answered and lost', () => {
    const step = fc.record({
      afterMs: fc.integer({ min: 0, max: 20_000 }),
      does: fc.constantFrom('send', 'answered', 'unanswered', 'unsent', 'inherit'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const log = new SlotLog();
        const plain: number[] = [];
        let [now, inFlight] = [T, 0];
        for (const { afterMs, does } of steps) {
          now += afterMs;
          if (does === 'send') {
            log.start(now);
            inFlight += 1;
          } else if (does === 'inherit') {
            log.inherit(now - 5_000);
            plain.push(now - 5_000);
          } else if (inFlight > 0) {
            inFlight -= 1;
            log[does](now);
            if (does !== 'unsent') plain.push(does === 'answered' ? now : now + UNANSWERED_MS);
          }
          const inUse = plain.filter((at) => at > now - IN_USE_MS);
          expect([log.inFlight, log.used(now)]).toEqual([inFlight, inFlight + inUse.length]);
          expect(log.nextFree(now)).toBe(Math.min(...inUse) + IN_USE_MS);
          const judged = now - 30_000;
          const counted = plain.filter((at) => at > judged - IN_USE_MS).length;
          expect(log.countedAt(judged, now)).toBe(inFlight + counted);
        }
      }),
    );
  });

  it('has no slot in use that is free already, however moments are rounded', () => {
    const moment = fc.double({ min: 0, max: 1e7, noNaN: true });
    fc.assert(
      fc.property(moment, fc.integer({ min: -4, max: 4 }), (at, steps) => {
        const log = new SlotLog();
        log.inherit(at);
        const now = (at + IN_USE_MS) * (1 + steps * Number.EPSILON);
        expect(log.used(now) === 0 || log.nextFree(now) > now).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('forgets what was two windows ago, and says nothing of then', () => {
    const log = new SlotLog();
    for (let index = 0; index < 5_000; index += 1) {
      log.start(T + index * 100);
      log.answered(T + index * 100);
    }
    const now = T + 500_000;
    expect(log.used(now)).toBe(Math.ceil(IN_USE_MS / 100) - 1);
    expect(log.countedAt(now - WINDOW_MS, now)).toBeUndefined();
  });
});
