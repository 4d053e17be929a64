import { expect, it } from 'vitest';
import { BoundedMemo } from './bounded-memo.ts';

it('keeps what was asked for last, within its bytes', () => {
  const memo = new BoundedMemo<number>(3_000);
  memo.set('a', 1, 1_000);
  memo.set('b', 2, 1_000);
  expect(memo.get('a')).toBe(1);
  memo.set('c', 3, 1_000);
  expect([memo.get('a'), memo.get('b'), memo.get('c')]).toEqual([1, undefined, 3]);
});

it('counts a value that is set again once, and keeps none that is too large', () => {
  const memo = new BoundedMemo<number>(3_000);
  for (let round = 0; round < 10; round += 1) memo.set('a', round, 1_000);
  memo.set('b', 2, 1_000);
  expect([memo.get('a'), memo.get('b')]).toEqual([9, 2]);
  memo.set('large', 4, 4_000);
  expect(memo.get('large')).toBeUndefined();
});
