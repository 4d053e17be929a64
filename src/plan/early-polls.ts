import type { LearntChanges } from './learnt-changes.ts';
import { changesPerMs, PRIOR_MS, unannouncedShare } from './change-rate.ts';

/**
 * A poll between two of its cron line's has to be likely to find so many changes for each of its requests
 * (docs/decisions/0016-polls-between-the-lines-runs.md).
 */
const LEAST_EXPECTED = 0.1;
/** Share of what the cron lines leave that such polls may take: the rest is for hints, lists and full walks. */
const SHARE = 0.5;

/**
 * How long (ms) after the last one began each collection is worth another poll: as soon as it is likely to have found
 * enough, and where all of these would take too many requests, at intervals that go with √(k/(q·λ)) (next-reading.ts).
 * @param freePerMs requests per millisecond that nothing else needs; at 0 or less, never
 * @returns in the order of `collections`; Infinity: not before its line's next run
 */
export function earlyPolls(collections: readonly LearntChanges[], freePerMs: number): number[] {
  const budget = freePerMs * SHARE;
  if (budget <= 0) return collections.map(() => Number.POSITIVE_INFINITY);
  const rates = collections.map(
    (learnt) => unannouncedShare(learnt) * changesPerMs(learnt, PRIOR_MS.collection),
  );
  const cost = (index: number): number => Math.max(1, collections[index]?.cost ?? 1);
  const worth = rates.map((rate, index) => (LEAST_EXPECTED * cost(index)) / rate);
  const spent = (intervals: readonly number[]): number =>
    intervals.reduce((sum, interval, index) => sum + cost(index) / interval, 0);
  if (spent(worth) <= budget) return worth;
  // With τ = c·√(k/λ) alone, c·budget = Σ √(k·λ); bounds from below only lengthen intervals.
  const factor = rates.reduce((sum, rate, index) => sum + Math.sqrt(cost(index) * rate), 0) / budget;
  return rates.map((rate, index) => Math.max(worth[index] ?? 0, factor * Math.sqrt(cost(index) / rate)));
}

/**
 * Requests per millisecond that the cron lines leave for early polls. Lists take all there is where they are many: of
 * what the collections' own polls leave, they count as half at most.
 * @param lineMs how often the lines poll
 */
export function freeForEarlyPolls(
  collections: readonly Pick<LearntChanges, 'cost'>[],
  lineMs: number,
  { perMinute, lists }: { readonly perMinute: number; readonly lists: number },
): number {
  const polls = collections.reduce((sum, { cost }) => sum + Math.max(1, cost), 0) / lineMs;
  const rest = Math.max(0, perMinute / 60_000 - polls);
  return rest - Math.min(lists / lineMs, rest / 2);
}
