import { describe, expect, it } from 'vitest';
import { inheritBlocks } from './inherit.ts';
import { KeyModel } from '../key-model.ts';
import { StoreTime } from './store-time.ts';
import type { LoadedBlock } from './store.ts';
import { GUARD_MS, WINDOW_MS } from '../slots/timing.ts';

/** Moment of the process's start by its own clock; the store's shows a million more. */
const NOW = 5_000;
const STORE_NOW = 1_005_000;
const USED_MS = WINDOW_MS + GUARD_MS;

/** How long from the start each inherited slot is in use, milliseconds; the last one first. */
function usedFor(...blocks: Partial<LoadedBlock>[]): number[] {
  const model = new KeyModel(1);
  const rows = blocks.map((block) => ({
    group: 'other' as const,
    blockId: 1,
    size: 1,
    validUntil: STORE_NOW,
    freed: [],
    ...block,
  }));
  inheritBlocks(model, rows, NOW, new StoreTime(STORE_NOW, NOW));
  const { log } = model.group('other');
  const until: number[] = [];
  let used = log.used(NOW, GUARD_MS);
  for (let ms = 0; used > 0; ms += 50) {
    const left = log.used(NOW + ms, GUARD_MS);
    for (; used > left; used -= 1) until.unshift(ms);
  }
  return until;
}

describe('a slot of an earlier process', () => {
  it('of which nothing was recorded counts as sent, without an answer, when its reservation ended', () => {
    expect(usedFor({ validUntil: STORE_NOW + 4_000 })).toEqual([4_000 + 30_000 + USED_MS]);
    expect(usedFor({ validUntil: STORE_NOW - 40_000 })).toEqual([30_000 - 40_000 + USED_MS]);
    expect(usedFor({ validUntil: STORE_NOW - 300_000 })).toEqual([]);
  });

  it('that was recorded comes free when it says', () => {
    expect(usedFor({ freed: [STORE_NOW + 7_000] })).toEqual([7_000]);
    expect(usedFor({ freed: [STORE_NOW - 1] })).toEqual([]);
  });

  it('is one of as many as its block has', () => {
    const block = { size: 4, freed: [STORE_NOW + 1_000], validUntil: STORE_NOW - 50_000 };
    expect(usedFor(block)).toEqual([40_250, 40_250, 40_250, 1_000]);
  });

  it('stays in use no longer than an honest row can say, though the store’s clock was put back', () => {
    const longest = 10_000 + 30_000 + USED_MS;
    expect(usedFor({ validUntil: STORE_NOW + 10_000 })).toEqual([longest]);
    expect(usedFor({ validUntil: STORE_NOW + 86_400_000 })).toEqual([longest]);
    expect(usedFor({ freed: [STORE_NOW + 86_400_000] })).toEqual([longest]);
  });
});
