import { describe, expect, it } from 'vitest';
import { addTotals, NO_TOTALS, totalsOf, type ReadTotals } from './walk-totals.ts';

const ONE: ReadTotals = {
  pages: 1,
  items: 2,
  inserted: 3,
  updated: 4,
  deleted: 5,
  unchanged: 6,
  quarantined: 7,
  requests: 8,
  rateLimited: 9,
  along: new Map([['list_items', 10]]),
};

describe('totals', () => {
  it('are the sums of two walks, of everything that is counted', () => {
    expect(addTotals(ONE, ONE)).toEqual({
      pages: 2,
      items: 4,
      inserted: 6,
      updated: 8,
      deleted: 10,
      unchanged: 12,
      quarantined: 14,
      requests: 16,
      rateLimited: 18,
      along: new Map([['list_items', 20]]),
    });
    expect(addTotals(NO_TOTALS, ONE)).toEqual(ONE);
  });

  it('name no collection of which no row went along', () => {
    expect(addTotals(NO_TOTALS, { along: new Map([['lists', 0]]) }).along).toEqual(new Map());
  });

  it('count what came back as updated, and what a page holds twice as unchanged', () => {
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
