import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { brakeBlocks, fitting, MAX_ROWS } from './delete-rows.ts';

it('the brake never blocks ten rows, whatever their share', () => {
  expect(brakeBlocks({ suspected: 10, deleted: 0, live: 10 })).toBe(false);
  expect(brakeBlocks({ suspected: 11, deleted: 0, live: 11 })).toBe(true);
  expect(brakeBlocks({ suspected: 5, deleted: 5, live: 5 })).toBe(false);
  expect(brakeBlocks({ suspected: 5, deleted: 6, live: 5 })).toBe(true);
});

it('the brake blocks deletions beyond a fifth of the rows', () => {
  expect(brakeBlocks({ suspected: 20, deleted: 0, live: 100 })).toBe(false);
  expect(brakeBlocks({ suspected: 21, deleted: 0, live: 100 })).toBe(true);
  expect(brakeBlocks({ suspected: 1, deleted: 20, live: 80 })).toBe(true);
  expect(brakeBlocks({ suspected: 0, deleted: 0, live: 0 })).toBe(false);
});

it('the brake decides the same while deletions are under way, part by part', () => {
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
