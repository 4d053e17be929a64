import { expect, it } from 'vitest';
import { type ListDirection, newMemory, type ScopeMemory } from './memory.ts';
import { beginFull, hasReadThrough } from './full.ts';
import type { FullWalk } from './walk.ts';

function memory(direction: ListDirection | null, inOrder = 20): ScopeMemory {
  const fresh = newMemory('bigint');
  return { ...fresh, evidence: { ...fresh.evidence, direction, inOrder } };
}

function walk(recent: readonly string[], restarts = 0): FullWalk {
  const begun = beginFull(memory(null), { liveRows: 5, now: 0 }).walk;
  return { ...begun, recent, restarts };
}

it.each<[string, readonly string[], string, boolean]>([
  ['falling', ['12', '10'], '9', false],
  ['falling', ['12', '9'], '9', true],
  ['falling', ['12', '8'], '9', true],
  ['rising', ['8', '9'], '10', false],
  ['rising', ['9', '11'], '10', true],
])(
  'a full walk has read through a place when its last item stands there or beyond: %s %j, %s: %s',
  (direction, recent, place, through) => {
    expect(hasReadThrough(walk(recent), memory(direction as ListDirection), place)).toBe(through);
  },
);

it('a full walk has read through a place only where the order says where that is, and it did not begin again', () => {
  expect(hasReadThrough(walk(['8']), memory(null), '9')).toBe(false);
  expect(hasReadThrough(walk(['8']), memory('falling', 19), '9')).toBe(false);
  expect(hasReadThrough(walk(['8'], 1), memory('falling'), '9')).toBe(false);
  expect(hasReadThrough(walk([]), memory('falling'), '9')).toBe(false);
});
