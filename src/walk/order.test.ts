import { describe, expect, it } from 'vitest';
import { newReading, type Reading } from './reading.ts';
import { gradeOf, NO_EVIDENCE, observeChanges, observeOrder, type OrderEvidence } from './memory.ts';

const TOP = newReading(0);
/** It goes on after row 6, the last one that it read. */
const BEHIND = { ...TOP, cursor: '6', recent: ['7', '6'], first: '9', run: 20 };
const FALLING: OrderEvidence = { ...NO_EVIDENCE, direction: 'falling', inOrder: 20 };

function falling(from: number, rows: number): string[] {
  return Array.from({ length: rows }, (_, i) => String(from - i));
}

const seen = (before: OrderEvidence, keys: readonly string[], asked: Reading = TOP) =>
  observeOrder(before, 'bigint', keys, asked);

describe('order evidence', () => {
  it('is usable from 20 distinct rows in key order on', () => {
    const grades = [19, 20].map((rows) => gradeOf(seen(NO_EVIDENCE, falling(100, rows)).evidence));
    expect(grades).toEqual(['none', 'usable']);
  });

  it('counts across pages of one walk, and the same rows read again only once', () => {
    const first = seen(NO_EVIDENCE, falling(100, 10));
    expect(seen(first.evidence, falling(100, 10)).evidence.inOrder).toBe(10);
    const asked = { ...TOP, cursor: '91', recent: ['92', '91'], first: '100', run: first.run };
    expect(seen(first.evidence, falling(91, 10), asked).evidence.inOrder).toBe(19);
    expect(gradeOf(seen(first.evidence, falling(90, 10), asked).evidence)).toBe('usable');
  });

  it('compares integer-like text keys as integers', () => {
    const keys = Array.from({ length: 30 }, (_, i) => String(i + 1));
    const { evidence } = observeOrder(NO_EVIDENCE, 'text', keys, TOP);
    expect([evidence.direction, gradeOf(evidence)]).toEqual(['rising', 'usable']);
  });

  it('is withdrawn by one row out of order, in a page or across two', () => {
    const inPage = seen(FALLING, ['9', '7', '8']);
    expect([inPage.contradiction, gradeOf(inPage.evidence)]).toEqual([true, 'none']);
    const young: OrderEvidence = { ...FALLING, inOrder: 3 };
    expect(seen(young, ['8', '5'], { ...BEHIND, run: 3 }).contradiction).toBe(true);
  });

  it('loses trust, not use, by a page that begins before its cursor', () => {
    const { evidence, ...found } = seen({ ...FALLING, inPlace: 3 }, ['9', '8'], BEHIND);
    expect(found).toMatchObject({ fromStart: true, contradiction: false });
    expect(gradeOf(evidence)).toBe('usable');
  });

  it('earns no trust by a page that begins before its cursor, but by the next one', () => {
    const rows = ['9', '8', '7'].map((key, i) => ({ key, known: true, changed: i === 1 }));
    const odd = seen(FALLING, ['9', '8', '7'], BEHIND).evidence;
    const next = seen(odd, ['5', '4'], BEHIND).evidence;
    const inPlace = [odd, next].map((each) => observeChanges(each, 'bigint', rows).inPlace);
    expect(inPlace).toEqual([0, 1]);
  });

  it('is trusted once three changed rows stood in order between unchanged neighbours', () => {
    const row = (key: string, changed: boolean, known = true) => ({ key, known, changed });
    const inPlace = [row('9', false), row('8', true), row('7', false)];
    const three = [1, 2, 3].reduce((evidence) => observeChanges(evidence, 'bigint', inPlace), FALLING);
    expect(gradeOf(three)).toBe('trusted');
    for (const proofless of [
      [row('8', true), row('7', false)],
      [row('9', false), row('8', true), row('7', true)],
      [row('9', false, false), row('8', true), row('7', false)],
      [row('9', false), row('8', true, false), row('7', false)],
      [row('9', false), row('4', true), row('7', false)],
    ]) {
      expect(observeChanges(FALLING, 'bigint', proofless)).toBe(FALLING);
    }
  });
});
