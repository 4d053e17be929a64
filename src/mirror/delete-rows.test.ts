import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { fitting, MAX_ROWS } from './delete-rows.ts';

const MB = 1024 * 1024;
const rows = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, index) => ({ key: String(index), bytes }));

it('rows that one statement deletes are no more than its bound in rows and in bytes', () => {
  expect(fitting(rows(5_000, 100))).toHaveLength(MAX_ROWS);
  expect(fitting(rows(100, MB))).toHaveLength(32);
  expect(fitting(rows(3, 20 * MB))).toHaveLength(1);
  expect(fitting([])).toEqual([]);
});

it('rows that one statement deletes are the first ones, and one at least: each of them goes in the end', () => {
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
