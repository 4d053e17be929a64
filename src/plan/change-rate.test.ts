import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LearntChanges, NOTHING_LEARNT } from './learnt-changes.ts';
import { changesPerMs, learn, PRIOR_MS, unannouncedShare } from './change-rate.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Readings at equal intervals for so long, each with so many changes. */
function watched(forMs: number, intervalMs: number, changes: number, announced = 0): LearntChanges {
  let known = NOTHING_LEARNT;
  for (let at = 0; at < forMs; at += intervalMs) {
    known = learn('collection', known, { elapsedMs: intervalMs, changes, announced, requests: 1 });
  }
  return known;
}

describe('what is learnt of changes', () => {
  it('comes near the true rate after a day, however often the scope is read', () => {
    for (const interval of [HOUR / 60, HOUR, 6 * HOUR, 24 * HOUR]) {
      const found = changesPerMs(watched(2 * DAY, interval, (interval / HOUR) * 10), PRIOR_MS.collection);
      expect(found * HOUR).toBeGreaterThan(8.5);
      expect(found * HOUR).toBeLessThan(10.5);
    }
  });

  it('fades by half in six hours for a collection, in two days for a list', () => {
    const known = { ...NOTHING_LEARNT, changes: 100, announced: 50 };
    const later = (kind: 'collection' | 'list', elapsedMs: number): LearntChanges =>
      learn(kind, known, { elapsedMs, changes: 0, announced: 0, requests: 1 });
    expect(later('collection', 6 * HOUR)).toMatchObject({ changes: 50, announced: 25 });
    expect(later('list', 2 * DAY)).toMatchObject({ changes: 50, announced: 25 });
  });

  it('never says that a scope does not change at all, however long nothing happens', () => {
    const rate = changesPerMs(watched(400 * DAY, DAY, 0), PRIOR_MS.collection);
    expect(rate * DAY).toBeGreaterThan(2);
  });

  it('learns what a reading costs, and nothing of that from rows read one by one', () => {
    let known = NOTHING_LEARNT;
    for (let reading = 0; reading < 30; reading += 1) {
      known = learn('list', known, { elapsedMs: 1, changes: 0, announced: 0, requests: 4 });
    }
    expect(known.cost).toBeCloseTo(4, 1);
    expect(learn('list', known, { elapsedMs: 0, changes: 1, announced: 1, requests: 0 }).cost).toBe(
      known.cost,
    );
  });

  it('is the same for one reading as for two that part its time, where the changes came evenly', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1000, max: DAY }),
        fc.integer({ min: 1, max: 100 }),
        (elapsedMs, changes) => {
          const part = { elapsedMs: elapsedMs / 2, changes: changes / 2, announced: 0, requests: 1 };
          const one = learn('list', NOTHING_LEARNT, { ...part, elapsedMs, changes });
          const two = learn('list', learn('list', NOTHING_LEARNT, part), part);
          expect(two.watchedMs).toBeCloseTo(one.watchedMs, 1);
          expect(two.changes).toBeCloseTo(one.changes, 4);
        },
      ),
    );
  });

  it('takes a clock that went back for no time', () => {
    const seen = { elapsedMs: -DAY, changes: 2, announced: 0, requests: 1 };
    expect(learn('list', NOTHING_LEARNT, seen)).toMatchObject({ changes: 2, watchedMs: 0 });
  });
});

describe('the share of changes that nothing announces', () => {
  it('is everything at first, and falls to 2 % where all are announced', () => {
    expect(unannouncedShare(NOTHING_LEARNT)).toBe(1);
    expect(unannouncedShare({ changes: 1000, announced: 1000 })).toBe(0.02);
    expect(unannouncedShare({ changes: 1000, announced: 800 })).toBeCloseTo(0.2, 2);
  });

  it('goes back to everything when events stop coming', () => {
    const before = watched(DAY, HOUR, 10, 10);
    let known = before;
    for (let hour = 0; hour < 48; hour += 1) {
      known = learn('collection', known, { elapsedMs: HOUR, changes: 10, announced: 0, requests: 1 });
    }
    expect(unannouncedShare(before)).toBeLessThan(0.05);
    expect(unannouncedShare(known)).toBeGreaterThan(0.95);
  });
});
