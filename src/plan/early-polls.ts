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
 * Only lines that poll so often (ms) have polls between their runs. Whoever sets a slower one, or hours and days
 * without runs, wants fewer requests or less load just then: that is kept.
 */
export const LONGEST_GAP_MS = 300_000;

/** How long (ms) after the last one began a poll is likely to find enough, whatever else takes requests. */
export function worthAfter(learnt: LearntChanges): number {
  return (LEAST_EXPECTED * Math.max(1, learnt.cost)) / unannouncedPerMs(learnt);
}

function unannouncedPerMs(learnt: LearntChanges): number {
  return unannouncedShare(learnt) * changesPerMs(learnt, PRIOR_MS.collection);
}

/**
 * How long (ms) after the last one began each collection is worth another poll: as soon as it is likely to have found
 * enough, and where all of these would take too many requests, at intervals that go with √(k/(q·λ)) (next-reading.ts).
 * @param freePerMs requests per millisecond that nothing else needs; at 0 or less, never
 * @returns in the order of `collections`; Infinity: not before its line's next run
 */
export function earlyPolls(collections: readonly LearntChanges[], freePerMs: number): number[] {
  const budget = freePerMs * SHARE;
  if (budget <= 0) return collections.map(() => Number.POSITIVE_INFINITY);
  const rates = collections.map(unannouncedPerMs);
  const cost = (index: number): number => Math.max(1, collections[index]?.cost ?? 1);
  const worth = collections.map(worthAfter);
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
 * @param collections requests of a poll, and how often (ms) the collection's own line polls; Infinity: never
 * @param account `perMinute`: its requests; `listsPerMs`: requests per millisecond that the line of lists takes
 */
export function freeForEarlyPolls(
  collections: readonly { readonly cost: number; readonly lineMs: number }[],
  account: { readonly perMinute: number; readonly listsPerMs: number },
): number {
  const polls = collections.reduce((sum, { cost, lineMs }) => sum + Math.max(1, cost) / lineMs, 0);
  const rest = Math.max(0, account.perMinute / 60_000 - polls);
  return rest - Math.min(account.listsPerMs, rest / 2);
}
