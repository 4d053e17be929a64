import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editDistance, suggestion } from './suggestion.ts';

describe('suggestion', () => {
  it('names the nearest candidate', () => {
    expect(suggestion('MIRROR_API_KEYS', ['MIRROR_API_URL', 'MIRROR_API_KEY'])).toBe(
      ' (did you mean MIRROR_API_KEY?)',
    );
    expect(suggestion('lsits', ['lists', 'list_items'])).toBe(' (did you mean lists?)');
  });

  it('says nothing when no candidate is near', () => {
    expect(suggestion('colour', ['lists', 'account'])).toBe('');
  });
});

describe('editDistance', () => {
  it('is a distance: zero for equal texts only, and the same both ways', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }), (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b) === 0).toBe(a === b);
        expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });

  it('counts two swapped letters as one slip', () => {
    expect(editDistance('abcd', 'abdc')).toBe(1);
  });
});
