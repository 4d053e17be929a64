import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPlainMoment, latestMoment, timestampText } from './values.ts';

describe('timestampText', () => {
  it.each([
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05.123456789+00:00', '2026-01-02T03:04:05.123456789Z'],
    ['2026-01-02 03:04:05', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04+0530', '2026-01-02T03:04:00+05:30'],
    ['2026-01-02T03:04:05-08', '2026-01-02T03:04:05-08:00'],
    ['2024-02-29', '2024-02-29T00:00:00Z'],
  ])('reads %s, UTC where it names no zone', (text, normal) => {
    expect(timestampText(text)).toBe(normal);
  });

  const NO_DATES = ['', 'yesterday', '2026-02-29', '2026-13-01', '0000-01-01', '12026-01-01T00:00:00Z'];
  const NO_TIMES = ['24:00:00Z', '03:04:60Z', '03:04:05+16:00', '03:04:05Z; drop table'];
  it.each(['1767322245', ...NO_DATES, ...NO_TIMES.map((time) => `2026-01-02T${time}`)])(
    'takes %j for no moment',
    (text) => {
      expect(timestampText(text)).toBeUndefined();
    },
  );

  it('means the moment that JavaScript means', () => {
    const date = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(date, (moment) => {
        expect(new Date(timestampText(moment.toISOString()) ?? '').getTime()).toBe(moment.getTime());
      }),
    );
  });
});

describe('the latest moment of an item', () => {
  it.each<[string, object, number | undefined]>([
    [
      'the latest in any field, whatever its name and place',
      { done: '2026-03-02T10:00:00Z', created_at: '2026-03-01', n: 1, updatedAt: '2026-02-28T23:59Z' },
      Date.UTC(2026, 2, 2, 10),
    ],
    [
      'as exact as a millisecond, its offset counted',
      { at: '2026-03-02T10:00:00.123456+02:00' },
      Date.UTC(2026, 2, 2, 8, 0, 0, 123),
    ],
    [
      'undefined if no field is a moment',
      { at: 1_772_445_600, on: 'yesterday', no: '2026-13-01', nested: { at: '2026-03-01T00:00:00Z' } },
      undefined,
    ],
  ])('is %s', (_, fields, moment) => {
    expect(latestMoment(JSON.stringify(fields))).toBe(moment);
  });
});

describe('isPlainMoment', () => {
  it('is true only for texts that timestampText leaves as they are', () => {
    const digits = fc.stringMatching(/^20[0-9]{2}-[0-3][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]Z$/);
    fc.assert(
      fc.property(fc.oneof(digits, fc.stringMatching(/^[-0-9T:Z. ]{19,21}$/)), (text) => {
        const spelled = isPlainMoment(JSON.stringify(text)) ? timestampText(text) : text;
        expect(spelled).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  it('is true for usual moments, and for nothing close to them', () => {
    const close = ['2026-11-28T23:59:59', '2026-11-00T23:59:59Z', '0000-01-01T00:00:00Z', '2026-1a-01T00:00:00Z'];
    const plain = ['2026-11-28T23:59:59Z', ...close].filter((text) => isPlainMoment(`"${text}"`));
    expect(plain).toEqual(['2026-11-28T23:59:59Z']);
  });
});
