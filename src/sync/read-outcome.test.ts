import { expect, it } from 'vitest';
import { KeyRefused } from '../model/errors.ts';
import { readOutcomeOf, type WalkResult } from './walk-result.ts';
import { NO_TOTALS } from '../model/sync-events.ts';

function walked(result: Partial<WalkResult>): WalkResult {
  return { error: undefined, totals: NO_TOTALS, suspects: false, ...result } as WalkResult;
}

it('a walk that suspects rows has its collection confirmed, any other none', () => {
  expect(readOutcomeOf('watchlist', walked({ suspects: true })).suspects).toEqual(['watchlist']);
  expect(readOutcomeOf('watchlist', walked({})).suspects).toEqual([]);
});

it('a failed walk says why, and a refused key ends all reading', () => {
  const error = new Error('page 2 was refused');
  expect(readOutcomeOf('watchlist', walked({ error })).error).toBe(error);
  const refused = new KeyRefused('every API key of the account is refused', 401);
  expect(() => readOutcomeOf('watchlist', walked({ error: refused }))).toThrow(refused);
});
