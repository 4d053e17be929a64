import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SteadyRate } from './steady-rate.ts';
import { Sequence } from './sequence.ts';

describe('a sequence', () => {
  it('gives every creation and every post its own slot, in order of time', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 5000 }), { maxLength: 30 }),
        fc.integer({ min: 0, max: 5 }),
        (waits, initial) => {
          const creations = new SteadyRate(0, 60, 0);
          const sequence = new Sequence(initial, creations);
          const posts: number[] = [];
          let time = 0;
          for (const wait of waits) {
            time += wait;
            posts.push(sequence.post(time));
          }
          const size = sequence.size(time);
          const moments: number[] = [];
          const numbers: number[] = [];
          for (let slot = initial; slot < size; slot += 1) {
            const origin = sequence.origin(slot);
            if (origin.kind === 'initial') throw new Error('only the first slots are initial');
            if (origin.kind === 'created') numbers.push(origin.number);
            moments.push(origin.kind === 'post' ? origin.at : creations.at(origin.number));
          }
          expect(moments).toEqual(moments.toSorted((a, b) => a - b));
          expect(numbers).toEqual(numbers.map((_, index) => index));
          expect(numbers.length + posts.length).toBe(size - initial);
          expect(new Set(posts).size).toBe(posts.length);
        },
      ),
    );
  });
});
