import { expect, it } from 'vitest';
import { inheritBlocks } from './inherit.ts';
import { KeyModel } from '../key-model.ts';
import { StoreTime } from './store-time.ts';
import type { LoadedBlock } from './store.ts';
import { GUARD_MS, WINDOW_MS } from '../slots/timing.ts';

/** Moment of the process's start by its own clock; the store's shows a million more. */
const NOW = 5_000;
const STORE_NOW = 1_005_000;
const USED_MS = WINDOW_MS + GUARD_MS;
const DAY = 86_400_000;
const LONGEST = 10_000 + 30_000 + USED_MS;

/** Moments of the row are from the store's now; `usedFor`: for how long (ms) each inherited slot is in use, the last one first. */
it.each<[string, { validUntil?: number; freed?: number[]; size?: number }, usedFor: number[]]>([
  // Without an answer, when its reservation ended.
  ['of which nothing was recorded counts as sent', { validUntil: 4_000 }, [4_000 + 30_000 + USED_MS]],
  ['of which nothing was recorded counts from its end', { validUntil: -40_000 }, [30_000 - 40_000 + USED_MS]],
  ['of which nothing was recorded is over some day', { validUntil: -300_000 }, []],
  ['that was recorded comes free when it says', { freed: [7_000] }, [7_000]],
  ['that was recorded may be free by now', { freed: [-1] }, []],
  [
    'is one of as many as its block has',
    { size: 4, freed: [1_000], validUntil: -50_000 },
    [40_250, 40_250, 40_250, 1_000],
  ],
  ['stays in use as long as an honest row can say', { validUntil: 10_000 }, [LONGEST]],
  ['stays in use no longer, though the store’s clock was put back', { validUntil: DAY }, [LONGEST]],
  ['stays in use no longer, though it was recorded so', { freed: [DAY] }, [LONGEST]],
])('a slot of an earlier process %s', (_, { validUntil = 0, freed = [], size = 1 }, usedFor) => {
  const block: LoadedBlock = {
    group: 'other',
    blockId: 1,
    size,
    validUntil: STORE_NOW + validUntil,
    freed: freed.map((at) => STORE_NOW + at),
  };
  const model = new KeyModel(1);
  inheritBlocks(model, [block], NOW, new StoreTime(STORE_NOW, NOW));
  const { log } = model.group('other');
  const until: number[] = [];
  let used = log.used(NOW, GUARD_MS);
  for (let ms = 0; used > 0; ms += 50) {
    const left = log.used(NOW + ms, GUARD_MS);
    for (; used > left; used -= 1) until.unshift(ms);
  }
  expect(until).toEqual(usedFor);
});
