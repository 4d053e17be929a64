import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from './duration.ts';

describe('parseDuration', () => {
  it.each([
    ['500ms', 500],
    ['60s', 60_000],
    ['1.5h', 5_400_000],
    ['15 m', 900_000],
    ['400d', 34_560_000_000],
    ['2w', 1_209_600_000],
  ])('reads %s', (text, ms) => expect(parseDuration(text, 0)).toBe(ms));

  it.each(['', '60', 's', '-1s', '1e3s', '1 day', '1d2h', 'Infinitys'])('refuses %j', (text) => {
    expect(() => parseDuration(text, 0)).toThrow(/no duration/);
  });

  it('names the least and the most', () => {
    expect(() => parseDuration('1s', 60_000)).toThrow('"1s" is too short: at least 1m');
    expect(() => parseDuration('99999999d', 0)).toThrow('too long');
  });

  it('reads back what formatDuration writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3_000_000_000_000 }), (ms) => {
        expect(parseDuration(formatDuration(ms), 0)).toBe(ms);
      }),
    );
  });
});
