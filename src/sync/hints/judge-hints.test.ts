import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { StoredHint } from '../../db/events/hint-store.ts';
import { judgeHints, type RowState, type ReadingFacts } from './judge-hints.ts';

const NOW = new Date(Date.UTC(2026, 0, 1));
const at = (ms: number): Date => new Date(NOW.getTime() + ms);
const hint = (more: Partial<StoredHint> = {}): StoredHint => ({
  key: '7',
  seq: '1',
  step: 0,
  hintedAt: at(-100),
  ...more,
});
const row = (changeId: string, changedMs: number): RowState => ({
  changeId,
  changedAt: at(changedMs),
  live: true,
});
const rows = (state?: RowState): ReadonlyMap<string, RowState> =>
  new Map(state === undefined ? [] : [['7', state]]);
const both = (changedMs: number) => ({ before: rows(row('5', changedMs)), after: rows(row('5', changedMs)) });
const LONG_AGO = row('5', -3_600_000);
const told = (more: Partial<ReadingFacts>): ReadingFacts => ({
  now: NOW,
  before: rows(LONG_AGO),
  after: rows(LONG_AGO),
  scopeChangedAt: undefined,
  ...more,
});

/** When the hint is due again, in milliseconds; undefined: it is done. */
function againIn(one: StoredHint, found: Partial<ReadingFacts>): number | undefined {
  const { done, again } = judgeHints([one], told(found));
  expect(done.length + again.length).toBe(1);
  const [next] = again;
  return next === undefined ? undefined : next.dueAt.getTime() - NOW.getTime();
}

it.each<[string, Partial<ReadingFacts>]>([
  ['changed', { after: rows(row('6', 0)) }],
  ['came', { before: rows() }],
  ['went', { after: rows() }],
  ['was changed by a poll within a minute before the event', both(-60_100)],
  ['was changed by a poll after it', both(-50)],
])('a hint whose row was read is done when the row %s', (_, found) => {
  expect(againIn(hint(), found)).toBeUndefined();
});

it('a hint whose row was read is due again after 5 s, and 30 s after the event, and then it is done', () => {
  expect(againIn(hint(), {})).toBe(5_000);
  expect(againIn(hint({ step: 1, hintedAt: at(-5_200) }), {})).toBe(24_800);
  expect(againIn(hint({ step: 2 }), {})).toBeUndefined();
});

it('a hint whose row was read of a row that never comes is due again likewise', () => {
  expect(againIn(hint(), { before: rows(), after: rows() })).toBe(5_000);
});

it('a hint whose row was read of the scope as a whole asks when any of its rows changed', () => {
  const whole = hint({ key: '' });
  expect(againIn(whole, { scopeChangedAt: at(-50) })).toBeUndefined();
  expect(againIn(whole, { scopeChangedAt: at(-3_600_000) })).toBe(5_000);
  expect(againIn(whole, {})).toBe(5_000);
});

it('a hint whose row was read is due again within 5 to 30 s, whatever the clocks say', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e9, max: 1e9 }), fc.constantFrom(0, 1), (hintedMs, step) => {
      const state = row('5', -2e9);
      const inMs = againIn(hint({ hintedAt: at(hintedMs), step }), {
        before: rows(state),
        after: rows(state),
      });
      expect(inMs).toBeGreaterThanOrEqual(5_000);
      expect(inMs).toBeLessThanOrEqual(30_000);
    }),
  );
});
