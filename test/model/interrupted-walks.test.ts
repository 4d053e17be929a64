import { describe, expect, it } from 'vitest';
import { allStarts, searchAll } from './all-variants.ts';

/** Items of a page, where pages of one, two and three are to be searched: the attack suite does that. */
const PAGE = 2;
const PATIENCE = 300_000;

describe('the model of walks and deletions, broken off and gone on with', () => {
  const orders = [...new Set(allStarts().map(({ order }) => order))];

  it.each(orders)(
    'deletes no row that is there, and claims nothing too early, where an interrupted walk goes on: %s',
    (order) => {
      const starts = allStarts().filter((start) => start.order === order && start.pageSize === PAGE);
      const interrupted = starts.map((start) => ({ ...start, interrupted: true }));
      const { deletions, wrong } = searchAll(2, interrupted);
      expect(wrong).toEqual([]);
      expect(deletions).toBeGreaterThan(500);
    },
    PATIENCE,
  );
});
