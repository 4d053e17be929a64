import { describe, expect, it } from 'vitest';
import { parseDuration } from './parse-values.ts';

describe('parseDuration', () => {
  it.each([
    ['500ms', 500],
    ['60s', 60_000],
    ['1.5h', 5_400_000],
    ['15 m', 900_000],
    ['400d', 34_560_000_000],
    ['2w', 1_209_600_000],
  ])('reads %s', (text, ms) => expect(parseDuration('0ms')(text)).toBe(ms));

  it.each(['', '60', 's', '-1s', '1e3s', '1 day', '1d2h', 'Infinitys'])('refuses %j', (text) => {
    expect(() => parseDuration('0ms')(text)).toThrow(/not a duration/);
  });

  it('names the least and the most', () => {
    expect(() => parseDuration('1m')('1s')).toThrow('"1s" is too short: the minimum is 1m');
    expect(() => parseDuration('0ms')('99999999d')).toThrow('too long');
  });
});
