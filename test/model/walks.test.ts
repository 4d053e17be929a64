import { describe, expect, it } from 'vitest';
import { seeded } from '../support/random.ts';
import { allStarts, exploreAll, nameOf, ORDERS } from './all-variants.ts';
import type { Start } from './explore.ts';

/**
 * Variants that are searched with three operations here; the attack suite searches all of them. (Those with small
 * pages in an order of scores take half a minute each.)
 */
const SAMPLE = 6;
const SEED = 20_261_121;
const PATIENCE = 300_000;

/** Searches variants, which must hold: @returns how many deletions were judged */
function search(operations: number, starts: readonly Start[]): number {
  const all = [...exploreAll(operations, starts)];
  expect(all.flatMap(({ violations }) => violations)).toEqual([]);
  return all.reduce((sum, { found }) => sum + found.deletions, 0);
}

/**
 * The walks, the evidence of order and the judgement of absence that the product runs, against every interleaving of
 * source operations with the requests of a full reading and a poll.
 */
describe('the model of walks and deletions', () => {
  it.each(ORDERS)(
    'deletes no row that is there, and mirrors a quiet source, whatever two operations: %s',
    (order) => {
      const starts = allStarts().filter((start) => start.order === order);
      expect(search(2, starts)).toBeGreaterThan(1000);
    },
    PATIENCE,
  );

  // Pages of two items; the attack suite searches those of one and three, too.
  it.each(ORDERS)(
    'deletes no row that is there, and claims nothing too early, where an interrupted walk goes on: %s',
    (order) => {
      const starts = allStarts().filter((start) => start.order === order && start.pageSize === 2);
      const interrupted = starts.map((start) => ({ ...start, interrupted: true }));
      expect(search(2, interrupted)).toBeGreaterThan(500);
    },
    PATIENCE,
  );

  const random = seeded(SEED);
  const sample = allStarts()
    .filter(({ order, pageSize }) => (order !== 'score' && order !== 'rank') || pageSize === 3)
    .map((start) => ({ start, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .slice(0, SAMPLE)
    .map(({ start }) => [nameOf(start), start] as const);

  it.each(sample)(
    `deletes no row that is there, whatever three operations (seed ${SEED}): %s`,
    (_, start) => {
      expect(search(3, [start])).toBeGreaterThan(0);
    },
    PATIENCE,
  );
});
