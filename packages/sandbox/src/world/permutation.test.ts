import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Permutation } from './permutation.ts';

describe('a permutation', () => {
  it('takes every item once before it repeats', () => {
    for (const size of [1, 2, 3, 10, 97, 360, 1000]) {
      const permutation = new Permutation(size);
      const members = Array.from({ length: size }, (_, turn) => permutation.itemAt(turn));
      expect(new Set(members).size).toBe(size);
      expect(permutation.itemAt(size)).toBe(members[0]);
    }
  });

  it('knows the first turn of each item, even of tens of millions', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50_000_000 }), fc.nat(), (size, number) => {
        const permutation = new Permutation(size);
        expect(permutation.itemAt(permutation.firstTurnOf(number % size))).toBe(number % size);
      }),
    );
  });
});
