import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formatCount, ordinal } from './figures.ts';

it('a count is written as English does, of any size', () => {
  const any = fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -2_000_000, max: 2_000_000 }), fc.double());
  fc.assert(
    fc.property(any, (count) => {
      // Zero has no sign in a table.
      expect(formatCount(count)).toBe((count === 0 ? 0 : count).toLocaleString('en-US'));
    }),
  );
  expect(formatCount(-1_234_567)).toBe('-1,234,567');
});

it('a place in a row is written as English does', () => {
  const places = [1, 2, 3, 4, 11, 12, 13, 21, 22, 111, 113].map(ordinal).join(' ');
  expect(places).toBe('1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 111th 113th');
});
