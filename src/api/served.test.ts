import { describe, expect, it } from 'vitest';
import { servedBy } from './served.ts';

const DATE = 'Sun, 01 Mar 2026 00:00:00 GMT';

describe('what an answer says of caches on the way', () => {
  it.each([
    [{}, undefined, 0],
    [{ date: DATE }, Date.UTC(2026, 2, 1), 0],
    [{ date: 'today', age: 'old' }, undefined, 0],
    [{ date: [DATE], age: ['30'] }, Date.UTC(2026, 2, 1), 30_000],
    [{ age: '0' }, undefined, 0],
    // Two caches, of which each added its own.
    [{ age: '12, 5' }, undefined, 12_000],
    [{ age: '-5' }, undefined, 0],
  ])('%j', (headers, date, ageMs) => {
    expect(servedBy(headers)).toEqual({ date, ageMs });
  });
});
