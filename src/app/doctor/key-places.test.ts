import { expect, it } from 'vitest';
import { keyPlace, keyPlaces, ordinal } from './key-places.ts';

it('names keys by their place', () => {
  expect([1, 2, 3, 4, 11, 12, 13, 21, 22, 111, 113].map(ordinal)).toEqual([
    '1st',
    '2nd',
    '3rd',
    '4th',
    '11th',
    '12th',
    '13th',
    '21st',
    '22nd',
    '111th',
    '113th',
  ]);
  expect(keyPlace(12, 20)).toBe('the 13th of MIRROR_API_KEY');
  expect(keyPlace(0, 1)).toBe('the key in MIRROR_API_KEY');
  expect(keyPlaces([0, 2, 12], 20)).toBe('the 1st, 3rd and 13th of MIRROR_API_KEY');
});
