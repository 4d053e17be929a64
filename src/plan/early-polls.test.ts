import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LearntChanges, NOTHING_LEARNT } from './learnt-changes.ts';
import { earlyPolls, freeForEarlyPolls } from './early-polls.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A collection that was seen to change so often for a day. */
function changing(perHour: number, cost = 1): LearntChanges {
  return { changes: perHour * 8.66, announced: 0, watchedMs: 8.66 * HOUR, cost };
}

describe('polls between the cron line’s runs', () => {
  it('are worth it from one change in ten requests on: not in a minute where little happens', () => {
    const [busy = 0, slow = 0, quiet = 0] = earlyPolls([changing(60), changing(3), NOTHING_LEARNT], 1);
    expect(busy).toBeLessThan(8_000);
    expect(slow).toBeGreaterThan(MINUTE);
    expect(quiet).toBeGreaterThan(MINUTE);
  });

  it('take no more than half of what is free, and where that is short, by the square root of the rates', () => {
    const collections = fc.array(
      fc.record({ perHour: fc.nat(5_000), cost: fc.integer({ min: 1, max: 5 }) }),
      {
        minLength: 1,
        maxLength: 6,
      },
    );
    fc.assert(
      fc.property(collections, fc.double({ min: 1e-6, max: 0.01, noNaN: true }), (shapes, free) => {
        const learnt = shapes.map(({ perHour, cost }) => changing(perHour, cost));
        const intervals = earlyPolls(learnt, free);
        const spent = intervals.reduce((sum, each, index) => sum + (learnt[index]?.cost ?? 0) / each, 0);
        expect(spent).toBeLessThanOrEqual((free / 2) * 1.000_001);
      }),
    );
    const [often = 0, seldom = 0] = earlyPolls([changing(4_000), changing(1_000)], 0.0001);
    expect(seldom / often).toBeCloseTo(2, 1);
  });

  it('are none where nothing is free', () => {
    expect(earlyPolls([changing(1_000)], 0)).toEqual([Number.POSITIVE_INFINITY]);
    const one = { cost: 1, lineMs: MINUTE };
    expect(freeForEarlyPolls([one, one, one], { perMinute: 3, listsPerMs: 0 })).toBe(0);
  });

  it('leave each collection the requests of its own line: none where that is never', () => {
    const collections = [
      { cost: 1, lineMs: MINUTE },
      { cost: 2, lineMs: HOUR },
      { cost: 5, lineMs: Number.POSITIVE_INFINITY },
    ];
    const free = freeForEarlyPolls(collections, { perMinute: 21, listsPerMs: 0 });
    expect(free * HOUR).toBeCloseTo(21 * 60 - 60 - 2, 6);
  });

  it('leave lists half of what the collections’ own polls leave, at least', () => {
    const free = (lists: number): number =>
      freeForEarlyPolls([{ cost: 1, lineMs: MINUTE }], { perMinute: 21, listsPerMs: lists / MINUTE }) *
      MINUTE;
    expect([free(0), free(4), free(10), free(10_000)].map(Math.round)).toEqual([20, 16, 10, 10]);
  });
});
