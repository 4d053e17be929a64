import { expect, it, describe } from 'vitest';
import { KeyRefused } from '../model/errors.ts';
import { readOutcomeOf, type WalkResult } from './walk-result.ts';
import { NO_TOTALS, addTotals, totalsOf } from '../model/sync-events.ts';

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

const ONE = Object.fromEntries(
  Object.keys(NO_TOTALS).map((name, index) =>
    name === 'along' ? [name, new Map([['list_items', 10]])] : [name, index + 1],
  ),
) as unknown as typeof NO_TOTALS;

describe('totals', () => {
  it('add up every count of two walks', () => {
    const { along, ...counts } = addTotals(ONE, ONE);
    for (const [name, count] of Object.entries(counts))
      expect([name, count]).toEqual([name, 2 * (ONE[name as keyof typeof counts] ?? 0)]);
    expect(along).toEqual(new Map([['list_items', 20]]));
    expect(addTotals(NO_TOTALS, ONE)).toEqual(ONE);
  });

  it('name no collection without deleted rows', () => {
    expect(addTotals(NO_TOTALS, { along: new Map([['lists', 0]]) }).along).toEqual(new Map());
  });

  it('count undeleted rows as updated, and duplicates as unchanged', () => {
    const counts = {
      inserted: 1,
      updated: 2,
      undeleted: 4,
      unchanged: 8,
      duplicate: 16,
      quarantined: 32,
      forgotten: 0,
      deferred: 64,
    };
    expect(totalsOf(counts)).toEqual({ inserted: 1, updated: 6, unchanged: 24, quarantined: 32 });
  });
});
