import { describe, expect, it } from 'vitest';
import { afterComplete } from './complete.ts';
import { newMemory, type ScopeMemory } from '../memory/memory.ts';
import { newReading, type Reading } from '../reading.ts';

const READ: Reading = { ...newReading(1_000), first: '50', firstAt: 1_500, recent: ['3', '2', '1'] };
const OPEN = { first: '40', at: 0, asOf: 0, after: '30', low: '20' };
const WHOLE = { snapshot: false, clean: true, now: 9_000 };

function memory(direction: 'falling' | 'rising' | null, changes: Partial<ScopeMemory> = {}): ScopeMemory {
  const fresh = newMemory('bigint');
  return { ...fresh, open: OPEN, evidence: { ...fresh.evidence, direction, doubt: true }, ...changes };
}

describe('a walk that has read every item', () => {
  it('leaves nothing of an interrupted poll to be read', () => {
    for (const before of [memory('falling'), memory(null)]) {
      for (const clean of [true, false]) {
        expect(afterComplete(before, READ, { ...WHOLE, clean }).open).toBeNull();
      }
    }
  });

  it('makes the order usable again when nothing contradicted it, and only then', () => {
    expect(afterComplete(memory('falling'), READ, WHOLE).evidence.doubt).toBe(false);
    const contradicted = afterComplete(memory('falling'), READ, { ...WHOLE, clean: false });
    expect([contradicted.evidence.doubt, contradicted.frontier]).toEqual([true, null]);
  });

  it('puts the frontier where the newest rows are: at its first item in a falling list, as it was answered', () => {
    expect(afterComplete(memory('falling'), READ, WHOLE).frontier).toMatchObject({
      key: '50',
      at: 1_500,
      asOf: 1_000,
    });
  });

  it('puts it at the last item of a rising list, as of the end', () => {
    const read = { ...READ, recent: ['48', '49', '50'], first: '1' };
    expect(afterComplete(memory('rising'), read, WHOLE).frontier).toMatchObject({
      key: '50',
      at: 9_000,
      asOf: 1_000,
    });
  });

  it('leaves the frontier where there was no item, or no order', () => {
    const frontier = { key: '7', at: 1, asOf: 1, marks: [] };
    const nothing = { ...READ, first: null, recent: [] };
    for (const direction of ['falling', 'rising'] as const) {
      const after = afterComplete(memory(direction, { frontier }), nothing, WHOLE);
      expect([after.frontier, after.evidence.doubt]).toEqual([frontier, false]);
    }
    expect(afterComplete(memory(null, { frontier }), READ, WHOLE).frontier).toEqual(frontier);
  });
});
