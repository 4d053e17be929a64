import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { brakeBlocks, fitting, MAX_ROWS } from './delete-rows.ts';

it.each([
  ['ten rows never', 10, 0, 10, false],
  ['eleven', 11, 0, 11, true],
  ['ten with those of the day', 5, 5, 5, false],
  ['eleven with those of the day', 5, 6, 5, true],
  ['a fifth of the rows', 20, 0, 100, false],
  ['more than a fifth', 21, 0, 100, true],
  ['more than a fifth with those of the day', 1, 20, 80, true],
  ['no rows', 0, 0, 0, false],
])('the brake judges %s: %i suspected, %i deleted, %i live: %s', (_, suspected, deleted, live, blocks) => {
  expect(brakeBlocks({ suspected, deleted, live })).toBe(blocks);
});

it('the brake decides the same while deletions are under way, part by part', () => {
  const count = fc.nat(10_000);
  fc.assert(
    fc.property(count, count, count, count, (suspected, deleted, more, part) => {
      const volume = Math.min(part, suspected);
      const live = suspected + more;
      const later = { suspected: suspected - volume, deleted: deleted + volume, live: live - volume };
      expect(brakeBlocks(later)).toBe(brakeBlocks({ suspected, deleted, live }));
    }),
  );
});

const MB = 1024 * 1024;
const rows = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, index) => ({ key: String(index), bytes }));

it('one statement deletes no more rows and bytes than its bounds', () => {
  expect(fitting(rows(5_000, 100))).toHaveLength(MAX_ROWS);
  expect(fitting(rows(100, MB))).toHaveLength(32);
  expect(fitting(rows(3, 20 * MB))).toHaveLength(1);
  expect(fitting([])).toEqual([]);
});

it('one statement deletes the first rows, at least one, so that all are deleted in the end', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(64 * MB), { minLength: 1, maxLength: 40 }), (sizes) => {
      const all = sizes.map((bytes, index) => ({ key: String(index), bytes }));
      let left: readonly { readonly key: string; readonly bytes: number }[] = all;
      const order: string[] = [];
      while (left.length > 0) {
        const part = fitting(left);
        expect(part.length).toBeGreaterThan(0);
        order.push(...part.map(({ key }) => key));
        left = left.slice(part.length);
      }
      expect(order).toEqual(all.map(({ key }) => key));
    }),
  );
});
