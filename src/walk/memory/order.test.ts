import { describe, expect, it } from 'vitest';
import { newReading } from '../reading.ts';
import { gradeOf, NO_EVIDENCE, observeChanges, observeOrder, type OrderEvidence } from './order.ts';

const TOP = newReading(0);
/** It goes on after row 6, the last one that it read. */
const BEHIND = { ...TOP, cursor: '6', recent: ['7', '6'], first: '9', run: 20 };
const FALLING: OrderEvidence = { ...NO_EVIDENCE, direction: 'falling', inOrder: 20 };

function falling(from: number, rows: number): string[] {
  return Array.from({ length: rows }, (_, i) => String(from - i));
}

describe('order evidence', () => {
  it('is usable from 20 distinct rows in key order on', () => {
    const few = observeOrder(NO_EVIDENCE, 'bigint', falling(100, 19), TOP);
    expect(gradeOf(few.evidence)).toBe('none');
    const enough = observeOrder(NO_EVIDENCE, 'bigint', falling(100, 20), TOP);
    expect(gradeOf(enough.evidence)).toBe('usable');
  });

  it('counts across pages of one walk, and the same rows read again only once', () => {
    const first = observeOrder(NO_EVIDENCE, 'bigint', falling(100, 10), TOP);
    const again = observeOrder(first.evidence, 'bigint', falling(100, 10), TOP);
    expect(again.evidence.inOrder).toBe(10);
    const asked = { ...TOP, cursor: '91', recent: ['92', '91'], first: '100', run: first.run };
    const second = observeOrder(first.evidence, 'bigint', falling(91, 10), asked);
    expect(second.evidence.inOrder).toBe(19);
    const third = observeOrder(first.evidence, 'bigint', falling(90, 10), asked);
    expect(gradeOf(third.evidence)).toBe('usable');
  });

  it('compares integer-like text keys as integers', () => {
    const keys = Array.from({ length: 30 }, (_, i) => String(i + 1));
    const { evidence } = observeOrder(NO_EVIDENCE, 'text', keys, TOP);
    expect([evidence.direction, gradeOf(evidence)]).toEqual(['rising', 'usable']);
  });

  it('is withdrawn by one row out of order, in a page or across two', () => {
    const inPage = observeOrder(FALLING, 'bigint', ['9', '7', '8'], TOP);
    expect([inPage.contradiction, gradeOf(inPage.evidence)]).toEqual([true, 'none']);
    const young: OrderEvidence = { ...FALLING, inOrder: 3 };
    const asked = { ...BEHIND, run: 3 };
    expect(observeOrder(young, 'bigint', ['8', '5'], asked).contradiction).toBe(true);
  });

  it('loses trust, not use, by a page that begins before its cursor', () => {
    const trusted = { ...FALLING, inPlace: 3 };
    const { evidence, fromStart, contradiction } = observeOrder(trusted, 'bigint', ['9', '8'], BEHIND);
    expect([fromStart, contradiction, gradeOf(evidence)]).toEqual([true, false, 'usable']);
  });

  it('earns no trust by a page that begins before its cursor, but by the next one', () => {
    const rows = ['9', '8', '7'].map((key, i) => ({ key, known: true, changed: i === 1 }));
    const odd = observeOrder(FALLING, 'bigint', ['9', '8', '7'], BEHIND).evidence;
    expect(observeChanges(odd, 'bigint', rows).inPlace).toBe(0);
    const next = observeOrder(odd, 'bigint', ['5', '4'], BEHIND).evidence;
    expect(observeChanges(next, 'bigint', rows).inPlace).toBe(1);
  });

  it('is trusted once three changed rows stood in order between unchanged neighbours', () => {
    const row = (
      key: string,
      changed: boolean,
      known = true,
    ): { key: string; known: boolean; changed: boolean } => ({
      key,
      known,
      changed,
    });
    const inPlace = [row('9', false), row('8', true), row('7', false)];
    const three = [1, 2, 3].reduce((evidence) => observeChanges(evidence, 'bigint', inPlace), FALLING);
    expect(gradeOf(three)).toBe('trusted');
    const proofless = [
      [row('8', true), row('7', false)],
      [row('9', false), row('8', true), row('7', true)],
      [row('9', false, false), row('8', true), row('7', false)],
      [row('9', false), row('8', true, false), row('7', false)],
      [row('9', false), row('4', true), row('7', false)],
    ];
    for (const rows of proofless) expect(observeChanges(FALLING, 'bigint', rows)).toBe(FALLING);
  });
});
