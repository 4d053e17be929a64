import { expect, it } from 'vitest';
import { keyPlace, keyPlaces } from './key-places.ts';

it('names keys by their place', () => {
  expect(keyPlace(12, 20)).toBe('the 13th of MIRROR_API_KEY');
  expect(keyPlace(0, 1)).toBe('the key in MIRROR_API_KEY');
  expect(keyPlaces([0, 2, 12], 20)).toBe('the 1st, 3rd and 13th of MIRROR_API_KEY');
});
