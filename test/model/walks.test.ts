import { describe, expect, it } from 'vitest';
import { seeded } from '../support/random.ts';
import { allStarts, exploreAll, nameOf, searchAll } from './all-variants.ts';

/**
 * Variants that are searched with three operations here; the attack suite searches all of them. (Those with small
 * pages in an order of scores take half a minute each.)
 */
const SAMPLE = 6;
const SEED = 20_261_121;
const PATIENCE = 300_000;

/**
 * The walks, the evidence of order and the judgement of absence that the product runs, against every interleaving of
 * source operations with the requests of a full reading and a poll.
 */
describe('the model of walks and deletions', () => {
  const orders = [...new Set(allStarts().map(({ order }) => order))];

  it.each(orders)(
    'deletes no row that is there, and mirrors a quiet source, whatever two operations: %s',
    (order) => {
      const starts = allStarts().filter((start) => start.order === order);
      const { deletions, wrong } = searchAll(2, starts);
      expect(wrong).toEqual([]);
      expect(deletions).toBeGreaterThan(1000);
    },
    PATIENCE,
  );

  const random = seeded(SEED);
  const sample = allStarts()
    .filter(({ order, pageSize }) => (order !== 'score' && order !== 'rank') || pageSize === 3)
    .map((start) => ({ start, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .slice(0, SAMPLE)
    .map(({ start }) => start);

  it.each(sample.map((start) => [nameOf(start), start] as const))(
    `the same with three operations (seed ${SEED}): %s`,
    (_, start) => {
      for (const { found, violations } of exploreAll(3, [start])) {
        expect(violations).toEqual([]);
        expect(found.deletions).toBeGreaterThan(0);
      }
    },
    PATIENCE,
  );
});
