import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutToWidth, displayWidth } from './width.ts';

const narrow = fc.string({
  unit: fc.constantFrom('a', '~', ' ', 'é', '©', 'ß', 'ő', '–', '…', '’', '→', '─', '│', '·'),
});

describe('the width of a text', () => {
  it('is the same whether or not it is told by its graphemes', () => {
    fc.assert(
      fc.property(narrow, (text) => {
        // Another script behind it has all of it segmented.
        expect(displayWidth(text)).toBe(displayWidth(`${text}漢`) - 2);
      }),
    );
  });

  it('counts wide characters twice, marks not at all, and an emoji of several once', () => {
    expect(displayWidth('漢字')).toBe(4);
    expect(displayWidth('e\u0301')).toBe(1);
    expect(displayWidth('©\ufe0f')).toBe(2);
    expect(displayWidth('👨‍👩‍👧')).toBe(2);
    expect(cutToWidth('漢字漢字', 5)).toBe('漢字…');
  });
});
