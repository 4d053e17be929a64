import { describe, expect, it } from 'vitest';
import { suggestion } from './suggestion.ts';

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
