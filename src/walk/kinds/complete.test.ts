import { describe, expect, it } from 'vitest';
import { afterComplete } from './complete.ts';
import { newMemory, type ScopeMemory } from '../memory/memory.ts';
import { newReading, type Reading } from '../reading.ts';

const READ: Reading = { ...newReading(1_000), first: '50', firstAt: 1_500, recent: ['3', '2', '1'] };
const RISEN: Reading = { ...READ, first: '1', recent: ['48', '49', '50'] };
const NOTHING: Reading = { ...READ, first: null, recent: [] };
const OPEN = { first: '40', at: 0, asOf: 0, after: '30', low: '20' };
const FRONTIER = { key: '7', at: 1, asOf: 1, marks: [] };

type Direction = 'falling' | 'rising' | null;

/** What a walk that ended at 9,000 leaves of the memory of a scope whose last poll was interrupted. */
function after(direction: Direction, read = READ, clean = true, frontier: ScopeMemory['frontier'] = null) {
  const fresh = newMemory('bigint');
  const evidence = { ...fresh.evidence, direction, doubt: true };
  const memory = { ...fresh, open: OPEN, evidence, frontier };
  return afterComplete(memory, read, { snapshot: false, clean, now: 9_000 });
}

describe('a walk that has read every item', () => {
  it('leaves nothing of an interrupted poll to be read', () => {
    const directions: readonly Direction[] = ['falling', null];
    for (const direction of directions) {
      for (const clean of [true, false]) expect(after(direction, READ, clean).open).toBeNull();
    }
  });

  it('makes the order usable again when nothing contradicted it, and only then', () => {
    expect(after('falling').evidence.doubt).toBe(false);
    expect(after('falling', READ, false)).toMatchObject({ evidence: { doubt: true }, frontier: null });
  });

  it.each<[string, Direction, Reading, number]>([
    ['at the first item of a falling list, as it was answered', 'falling', READ, 1_500],
    ['at the last item of a rising list, as of the end', 'rising', RISEN, 9_000],
  ])('puts the frontier where the newest rows are: %s', (_, direction, read, at) => {
    expect(after(direction, read).frontier).toMatchObject({ key: '50', at, asOf: 1_000 });
  });

  it('leaves the frontier where there was no item, or no order', () => {
    for (const direction of ['falling', 'rising'] as const) {
      const { frontier, evidence } = after(direction, NOTHING, true, FRONTIER);
      expect([frontier, evidence.doubt]).toEqual([FRONTIER, false]);
    }
    expect(after(null, READ, true, FRONTIER).frontier).toEqual(FRONTIER);
  });
});
