import { describe, expect, it } from 'vitest';
import { absolute, count, rate, relative, span } from './page-figures.ts';

const AT = '2026-03-01T12:00:00.000Z';

describe('figures', () => {
  it('are grouped by thousands', () => {
    expect([count(0), count(1234567)]).toEqual(['0', '1,234,567']);
  });

  it('of speed keep a digit only where it tells something', () => {
    expect([rate(0, 10), rate(1, 3), rate(5, 0), rate(120, 10), rate(90_000, 2)]).toEqual([
      '0',
      '0.3',
      '0',
      '12',
      '45,000',
    ]);
  });

  it.each([
    [0, '0 s'],
    [-5, '0 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [3_599_999, '59 min'],
    [7_200_000, '2 h'],
    [172_800_000, '2 d'],
  ])('of %d ms are %s', (milliseconds, text) => {
    expect(span(milliseconds)).toBe(text);
  });

  it('of moments say how long ago, or how soon', () => {
    expect(relative('2026-03-01T11:59:56Z', AT)).toBe('4 s ago');
    expect(relative('2026-03-01T12:03:00Z', AT)).toBe('in 3 min');
    expect(relative('2026-03-01T12:00:00.400Z', AT)).toBe('now');
  });

  it('of moments leave out the date of the day', () => {
    expect(absolute('2026-03-01T01:02:03+02:00', AT)).toBe('2026-02-28 23:02:03 UTC');
    expect(absolute('2026-03-01T01:02:03Z', AT)).toBe('01:02:03 UTC');
  });
});
