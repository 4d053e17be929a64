import { describe, expect, it } from 'vitest';
import { checkpoint, resumeFull } from './checkpoint.ts';
import { beginFull } from './kinds/full.ts';
import { newMemory } from './memory/memory.ts';
import { step } from './step.ts';
import type { WalkAnswer, FullWalk, Step } from './walk.ts';

const NOW = 1_795_264_999_123;

function walked(answers: readonly WalkAnswer[]): Step<FullWalk> {
  const begun = beginFull(newMemory('bigint'), { liveRows: 100_000, now: NOW });
  return answers.reduce((at, answer, i) => step(at.walk, at.memory, answer, NOW + i), begun);
}

function page(top: number, rows = 500): Extract<WalkAnswer, { type: 'page' }> {
  return { type: 'page', keys: Array.from({ length: rows }, (_, i) => String(top - i)), hasMore: true };
}

/** Where the service offers cursors: at one, and at the one before it. */
function behindTokens(): WalkAnswer[][] {
  const offers = (top: number, nextCursor: string): WalkAnswer => ({ ...page(top), nextCursor });
  const walked = [offers(9000, 'x'), offers(8500, 'y')];
  return [walked, [...walked, { type: 'page', keys: [], hasMore: false, nextCursor: null }]];
}

describe('a checkpoint', () => {
  it('is small: it is rewritten with every page', () => {
    const { walk } = walked([page(1_200_000), page(1_199_500), page(1_199_000)]);
    expect(JSON.stringify(checkpoint(walk)).length).toBeLessThanOrEqual(160);
  });

  it('continues the walk where it stood, marked as resumed', () => {
    const empty: WalkAnswer = { type: 'page', keys: [], hasMore: true };
    const refused: WalkAnswer = { type: 'refused', status: 400, message: 'limit' };
    for (const answers of [
      [],
      [page(900)],
      [page(900), empty],
      [refused],
      [refused, refused, page(900)],
      [{ ...page(900), ageMs: 61_000 }],
      ...behindTokens(),
    ]) {
      const { walk, memory, ask } = walked(answers);
      const resumed = resumeFull(memory, JSON.parse(JSON.stringify(checkpoint(walk))));
      expect(resumed.ask).toEqual(ask);
      expect({ ...resumed.walk, resumed: false, run: walk.run, liveRows: walk.liveRows }).toEqual(walk);
      expect(resumed.walk.resumed).toBe(true);
    }
  });
});
