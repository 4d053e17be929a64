import { describe, expect, it } from 'vitest';
import { addTotals, NO_TOTALS, totalsOf } from '../model/sync-events.ts';

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
