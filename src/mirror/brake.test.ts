import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { brakeBlocks } from './delete-rows.ts';

it('the brake lets ten rows go, whatever their share', () => {
  expect(brakeBlocks({ suspected: 10, deleted: 0, live: 10 })).toBe(false);
  expect(brakeBlocks({ suspected: 11, deleted: 0, live: 11 })).toBe(true);
  expect(brakeBlocks({ suspected: 5, deleted: 5, live: 5 })).toBe(false);
  expect(brakeBlocks({ suspected: 5, deleted: 6, live: 5 })).toBe(true);
});

it('the brake holds beyond a fifth of what there was', () => {
  expect(brakeBlocks({ suspected: 20, deleted: 0, live: 100 })).toBe(false);
  expect(brakeBlocks({ suspected: 21, deleted: 0, live: 100 })).toBe(true);
  expect(brakeBlocks({ suspected: 1, deleted: 20, live: 80 })).toBe(true);
  expect(brakeBlocks({ suspected: 0, deleted: 0, live: 0 })).toBe(false);
});

it('the brake judges the same while deletions are under way, part by part', () => {
  const count = fc.nat(10_000);
  fc.assert(
    fc.property(count, count, count, count, (suspected, deleted, more, part) => {
      const volume = Math.min(part, suspected);
      const live = suspected + more;
      expect(
        brakeBlocks({ suspected: suspected - volume, deleted: deleted + volume, live: live - volume }),
      ).toBe(brakeBlocks({ suspected, deleted, live }));
    }),
  );
});
