import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { StoredHint } from '../mirror/hint-store.ts';
import { HintBucket, judgeHint } from './hints.ts';

const NOW = new Date(Date.UTC(2026, 0, 1));
const at = (ms: number): Date => new Date(NOW.getTime() + ms);
const LONG_AGO = at(-3_600_000);
const hint = (more: Partial<StoredHint> = {}): StoredHint => ({
  key: '7',
  seq: '1',
  step: 0,
  hintedAt: at(-100),
  ...more,
});

/** When the hint is due again, in milliseconds; undefined: it is done. */
function againIn(one: StoredHint, changedAt: Date | undefined): number | undefined {
  const dueAt = judgeHint(one, changedAt, NOW);
  return dueAt === null ? undefined : dueAt.getTime() - NOW.getTime();
}

it.each([
  ['was changed by the reading', 0],
  ['was changed by a poll after the event', -50],
  ['was changed by a poll within a minute before the event', -60_100],
])('a hint whose row was read is done when the row %s', (_, changedMs) => {
  expect(againIn(hint(), at(changedMs))).toBeUndefined();
});

it('a hint whose row was read is due again after 5 s, and 30 s after the event, and then it is done', () => {
  expect(againIn(hint(), at(-60_101))).toBe(5_000);
  expect(againIn(hint(), LONG_AGO)).toBe(5_000);
  expect(againIn(hint({ step: 1, hintedAt: at(-5_200) }), LONG_AGO)).toBe(24_800);
  expect(againIn(hint({ step: 2 }), LONG_AGO)).toBeUndefined();
});

it('a hint of a row that never appears is due again likewise', () => {
  expect(againIn(hint(), undefined)).toBe(5_000);
  expect(againIn(hint({ step: 2 }), undefined)).toBeUndefined();
});

it('a hint whose row was read is due again within 5 to 30 s, whatever the clocks say', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e9, max: 1e9 }), fc.constantFrom(0, 1), (hintedMs, step) => {
      const inMs = againIn(hint({ hintedAt: at(hintedMs), step }), at(-2e9));
      expect(inMs).toBeGreaterThanOrEqual(5_000);
      expect(inMs).toBeLessThanOrEqual(30_000);
    }),
  );
});

it('the hint bucket never gives more than half of the budget plus five', () => {
  const step = fc.record({ ms: fc.nat(5_000), wants: fc.nat(8) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 600 }), (steps, perMinute) => {
      const bucket = new HintBucket(0);
      let [now, taken] = [0, 0];
      for (const { ms, wants } of steps) {
        now += ms;
        const some = Math.min(wants, bucket.tokens(now, perMinute));
        bucket.spend(some);
        taken += some;
        expect(taken).toBeLessThanOrEqual(5 + (now * perMinute) / 120_000 + 1e-5 * (steps.length + 1));
      }
      const wait = bucket.waitMs(now, perMinute);
      expect(bucket.tokens(now + wait, perMinute)).toBeGreaterThan(0);
    }),
  );
});
