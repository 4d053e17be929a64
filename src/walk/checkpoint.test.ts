import { expect, it } from 'vitest';
import { page as pageOf, range, refused } from '../../test/support/walks/walk-steps.ts';
import { checkpoint, resumeFull } from './checkpoint.ts';
import { beginFull } from './full.ts';
import { newMemory } from './memory.ts';
import { step } from './step.ts';
import type { WalkAnswer, FullWalk, Step } from './walk.ts';

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
