import { describe, expect, it } from 'vitest';
import { latestMoment } from './latest-moment.ts';

describe('the latest moment of an item', () => {
  it('is the latest in any field, whatever its name and place', () => {
    const fields = {
      done: '2026-03-02T10:00:00Z',
      created_at: '2026-03-01',
      n: 1,
      updatedAt: '2026-02-28T23:59Z',
    };
    expect(latestMoment(fields)).toBe(Date.UTC(2026, 2, 2, 10));
  });

  it('has offsets and digits of a second', () => {
    expect(latestMoment({ at: '2026-03-02T10:00:00.123456+02:00' })).toBe(Date.UTC(2026, 2, 2, 8, 0, 0, 123));
  });

  it('is none where nothing is a moment', () => {
    const fields = {
      at: 1_772_445_600,
      on: 'yesterday',
      no: '2026-13-01',
      nested: { at: '2026-03-01T00:00:00Z' },
    };
    expect(latestMoment(fields)).toBeUndefined();
  });
});
