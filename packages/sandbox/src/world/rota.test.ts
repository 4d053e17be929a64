import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Rota } from './rota.ts';

describe('a rota', () => {
  it('takes every item once before it begins again', () => {
    for (const size of [1, 2, 3, 10, 97, 360, 1000]) {
      const rota = new Rota(size);
      const members = Array.from({ length: size }, (_, turn) => rota.member(turn));
      expect(new Set(members).size).toBe(size);
      expect(rota.member(size)).toBe(members[0]);
    }
  });

  it('knows the turn of each item, also among tens of millions', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50_000_000 }), fc.nat(), (size, number) => {
        const rota = new Rota(size);
        expect(rota.member(rota.turnOf(number % size))).toBe(number % size);
      }),
    );
  });
});
