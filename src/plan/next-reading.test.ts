import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NOTHING_LEARNT } from './learnt-changes.ts';
import { compareNeeds, firstInBatch, listsAtOnce, needOf, type Readable } from './next-reading.ts';

const DAY = 86_400_000;

function readable(more: Partial<Readable>): Readable {
  return { sinceMs: 1, longestMs: DAY, learnt: NOTHING_LEARNT, priorMs: DAY, unannounced: 1, ...more };
}

function goesFirst(a: Partial<Readable>, b: Partial<Readable>): boolean {
  return compareNeeds(needOf(readable(a)), needOf(readable(b))) < 0;
}

describe('which scope is read next', () => {
  it('is a new one, then one not read for too long, then one likely to have changed', () => {
    const busy = { sinceMs: DAY - 1, learnt: { ...NOTHING_LEARNT, changes: 1e6 } };
    expect(goesFirst({ sinceMs: undefined }, { sinceMs: 2 * DAY })).toBe(true);
    expect(goesFirst({ sinceMs: DAY }, busy)).toBe(true);
    expect(goesFirst(busy, { sinceMs: DAY - 1 })).toBe(true);
  });

  it('is late by one factor, where more is asked than can be done', () => {
    expect(goesFirst({ sinceMs: 120_000, longestMs: 60_000 }, { sinceMs: 1.5 * DAY })).toBe(true);
    expect(goesFirst({ sinceMs: 80_000, longestMs: 60_000 }, { sinceMs: 1.5 * DAY })).toBe(false);
  });

  it('is, of two alike, the one that costs less, that fewer events announce, or that was read longer ago', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: DAY - 2 }),
        fc.double({ min: 0.03, max: 1, noNaN: true }),
        (sinceMs, q) => {
          expect(goesFirst({ sinceMs }, { sinceMs, learnt: { ...NOTHING_LEARNT, cost: 2 } })).toBe(true);
          expect(goesFirst({ sinceMs, unannounced: q }, { sinceMs, unannounced: q / 2 })).toBe(true);
          expect(goesFirst({ sinceMs: sinceMs + 1 }, { sinceMs })).toBe(true);
        },
      ),
    );
  });

  it('leaves no scope unread for a day, whatever happens in the others', () => {
    // A thousand requests a day for a hundred lists, one of which changes all the time.
    const readAt = Array.from({ length: 100 }, () => 0);
    let oldest = 0;
    for (let now = DAY / 1000; now < 4 * DAY; now += DAY / 1000) {
      const needs = readAt.map((at, list) =>
        needOf(readable({ sinceMs: now - at, learnt: { ...NOTHING_LEARNT, changes: list === 0 ? 1e9 : 0 } })),
      );
      const first = needs.reduce(
        (best, need, list) => (compareNeeds(need, needs[best] ?? need) < 0 ? list : best),
        0,
      );
      oldest = Math.max(oldest, now - (readAt[first] ?? 0));
      readAt[first] = now;
    }
    expect(oldest).toBeLessThan(1.11 * DAY);
  });
});

describe('a batch of lists', () => {
  it('is all of a few lists, and a hundredth of many: twenty at most', () => {
    expect([1, 20, 21, 100, 101, 1_950, 100_000].map(listsAtOnce)).toEqual([20, 20, 1, 1, 2, 20, 20]);
  });

  it('leaves no list unread for a day while others change all the time, nor a change unread where all are late', () => {
    // 1,000 batches of one list a day. Of the lists, 200 have changed again whenever they were read.
    const longestOf = (lists: number): { oldest: number; changed: number } => {
      const readAt = Array.from({ length: lists }, (_, list) => -list);
      let [oldest, changed] = [0, 0];
      for (let batch = 0; batch < 5_000; batch += 1) {
        const now = batch;
        const least = (from: number, to: number): number =>
          readAt.reduce(
            (best, at, list) => (list >= from && list < to && at < (readAt[best] ?? 0) ? list : best),
            from,
          );
        const [due, other] = [least(0, 200), least(200, lists)];
        const late = now - (readAt[other] ?? 0) >= 1_000;
        const lateDue = now - (readAt[due] ?? 0) >= 1_000 && (readAt[due] ?? 0) < (readAt[other] ?? 0);
        const next = firstInBatch(batch) === 'changed' || !late || lateDue ? due : other;
        const waited = now - (readAt[next] ?? 0);
        if (batch > 1_500 && next === other) oldest = Math.max(oldest, waited);
        if (batch > 1_500 && next === due) changed = Math.max(changed, waited);
        readAt[next] = now;
      }
      return { oldest: Math.max(oldest, ...readAt.slice(200).map((at) => 5_000 - at)), changed };
    };
    expect(longestOf(900).oldest).toBeLessThan(1_050);
    expect(longestOf(5_000).changed).toBeLessThanOrEqual(1_000);
  });
});
