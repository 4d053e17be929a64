import { expect, it } from 'vitest';
import { type ListDirection, newMemory, type ScopeMemory } from './memory.ts';
import { beginFull, hasReadThrough } from './full.ts';
import type { FullWalk, WalkAnswer, Step } from './walk.ts';
import { page as pageOf, range, refused } from '../../test/support/walks/walk-steps.ts';
import { checkpoint, resumeFull } from './checkpoint.ts';
import { step } from './step.ts';

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

const NOW = 1_795_264_999_123;

function walked(answers: readonly WalkAnswer[]): Step<FullWalk> {
  const begun = beginFull(newMemory('bigint'), { liveRows: 100_000, now: NOW });
  return answers.reduce((at, answer, i) => step(at.walk, at.memory, answer, NOW + i), begun);
}

const page = (top: number, nextCursor?: string) => pageOf(range(top, top - 499), true, nextCursor);
const OFFERED = [page(9000, 'x'), page(8500, 'y')];

it('a checkpoint is small: it is rewritten with every page', () => {
  const { walk } = walked([page(1_200_000), page(1_199_500), page(1_199_000)]);
  expect(JSON.stringify(checkpoint(walk)).length).toBeLessThanOrEqual(160);
});

it.each<[string, readonly WalkAnswer[]]>([
  ['at the top', []],
  ['after a page', [page(900)]],
  ['after an empty page', [page(900), pageOf([], true)]],
  ['after a refusal', [refused(400)]],
  ['after a page of a smaller limit', [refused(400), refused(400), page(900)]],
  ['after a page from a cache', [{ ...page(900), ageMs: 61_000 } as WalkAnswer]],
  ['at a cursor that the service offers', OFFERED],
  ['at the one before it', [...OFFERED, pageOf([], false, null)]],
])('a checkpoint continues the walk where it stood, marked as resumed: %s', (_, answers) => {
  const { walk, memory, ask } = walked(answers);
  const resumed = resumeFull(memory, JSON.parse(JSON.stringify(checkpoint(walk))));
  expect(resumed.ask).toEqual(ask);
  expect({ ...resumed.walk, resumed: false, run: walk.run, liveRows: walk.liveRows }).toEqual(walk);
  expect(resumed.walk.resumed).toBe(true);
});
