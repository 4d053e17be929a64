import { describe, expect, it } from 'vitest';
import { namedLikeTime } from './time-name.ts';

describe('namedLikeTime', () => {
  it('knows time by its last words', () => {
    for (const name of ['created_at', 'date', 'last_seen', 'valid_until', 'updated']) {
      expect([name, namedLikeTime(name)]).toEqual([name, true]);
    }
    for (const name of ['name', 'format', 'candidate', 'at_bats', 'timeline']) {
      expect([name, namedLikeTime(name)]).toEqual([name, false]);
    }
  });
});
