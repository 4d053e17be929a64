import type { LearntChanges } from './learnt-changes.ts';
import { changesPerMs, PRIOR_MS, unannouncedShare } from './change-rate.ts';

/**
 * For each change of a collection that nothing announced, so many requests may go for polls of it. Those that its own
 * line does not send are for polls between the lines' runs (docs/decisions/0016-polls-between-the-lines-runs.md).
 */
const MOST_FOR_A_CHANGE = 50;
/**
 * Share of what the cron lines leave that such polls may take at most. Full walks, lists that have changed, and second
 * readings come below polls, and live on the rest.
 */
const SHARE = { readsBelow: 0.5, resting: 0.95 } as const;

/**
 * Only lines that poll so often (ms) have polls between their runs. Whoever sets a slower one, or hours and days
 * without runs, wants fewer requests or less load just then: that is kept.
 */
export const LONGEST_GAP_MS = 300_000;

/** A collection, and how often (ms) its own line polls it; Infinity: never. */
export interface PolledCollection {
  readonly learnt: LearntChanges;
  readonly lineMs: number;
}

/** The line of lists. */
export interface PolledLists {
  /** Requests of one reading of all lists. */
  readonly requests: number;
  /** How often (ms) the line reads them; Infinity: never. */
  readonly lineMs: number;
  /** Σ √(k·q·λ) of all lists, λ by the millisecond; undefined: not known. */
  readonly need: number | undefined;
}

/** What the account has to spend. */
export interface Spendable {
  readonly perMinute: number;
  /** Something is under way that may need many requests, and comes below polls: a full walk, a verification. */
  readonly readsBelow: boolean;
}

/** So long (ms) after a poll a collection has earned the requests of another; Infinity: it earns none. */
export function earnsAfter(learnt: LearntChanges): number {
  return Math.max(1, learnt.cost) / earnedPerMs(learnt);
}

/** By changes that were seen: those that are taken for granted of any collection earn nothing. */
function earnedPerMs({ changes, announced, watchedMs }: LearntChanges): number {
  return (MOST_FOR_A_CHANGE * Math.max(0, changes - announced)) / (PRIOR_MS.collection + watchedMs);
}

/**
 * How long (ms) after the last one each collection is worth another poll: all requests that are earned, and that the
 * lines leave, at intervals that go with √(k/(q·λ)) where that is sooner than the line (next-reading.ts).
 * @returns in the order of `collections`; Infinity: not before its line's next run
 */
export function earlyPolls(
  collections: readonly PolledCollection[],
  lists: PolledLists | undefined,
  { perMinute, readsBelow }: Spendable,
): number[] {
  const parts = collections.map(partOf);
  const rest = perMinute / 60_000 - sumOf(parts, 'least');
  const none = parts.map(() => Number.POSITIVE_INFINITY);
  if (rest <= 0) return none;
  const may = parts.filter(({ lineMs }) => lineMs <= LONGEST_GAP_MS);
  const free = (rest - listsPerMs(may, lists, rest)) * SHARE[readsBelow ? 'readsBelow' : 'resting'];
  const early = Math.min(sumOf(may, 'earned'), free);
  if (early <= 0) return none;
  const price = priceOf(may, sumOf(may, 'least') + early);
  return parts.map(({ cost, root, least, lineMs }) =>
    lineMs <= LONGEST_GAP_MS && price * root > least ? cost / (price * root) : Number.POSITIVE_INFINITY,
  );
}

/**
 * The moment (ms) from which an interval counts: that for which the poll was planned, so that one which waited for its
 * slot puts off none of the next. Else all polls would come less often than they are worth, by as much as they wait.
 * One that comes later than an interval begins anew.
 */
export function countsFrom(planned: number, began: number, interval: number): number {
  return began > planned && began - planned < interval ? planned : began;
}

/** What shares requests, all by the millisecond. */
interface Part {
  /** √(k·q·λ) */
  readonly root: number;
  /** Requests that it has in any case. */
  readonly least: number;
}

interface CollectionPart extends Part {
  readonly cost: number;
  readonly lineMs: number;
  /** Requests that its changes earn beyond its line's. */
  readonly earned: number;
}

function partOf({ learnt, lineMs }: PolledCollection): CollectionPart {
  const cost = Math.max(1, learnt.cost);
  const rate = unannouncedShare(learnt) * changesPerMs(learnt, PRIOR_MS.collection);
  const least = cost / lineMs;
  const earned = Math.max(0, earnedPerMs(learnt) - least);
  return { cost, lineMs, least, earned, root: Math.sqrt(cost * rate) };
}

function sumOf<K extends string>(parts: readonly Readonly<Record<K, number>>[], field: K): number {
  return parts.reduce((sum, part) => sum + part[field], 0);
}

/**
 * Requests per millisecond that lists get of what the collections' lines leave: what their line takes, where that is
 * half of it at most. Else they have one price with the collections: a request goes where it saves most waiting. What is
 * theirs in any case falls from half to nothing, so that one list more changes little.
 */
function listsPerMs(collections: readonly Part[], lists: PolledLists | undefined, rest: number): number {
  if (lists === undefined) return 0;
  const line = lists.requests / lists.lineMs;
  if (line <= rest / 2) return line;
  if (lists.need === undefined) return rest / 2;
  const price = priceOf([...collections, { root: lists.need, least: 0 }], sumOf(collections, 'least') + rest);
  return Math.min(line, Math.max(rest - line, price * lists.need));
}

/** The price at which all parts together, each price × root or its least, are as much as `total`, at least their least. */
function priceOf(parts: readonly Part[], total: number): number {
  let left = total - sumOf(parts, 'least');
  let roots = 0;
  let price = 0;
  for (const { root, least } of parts.toSorted((a, b) => a.least / a.root - b.least / b.root)) {
    if (roots > 0 && price <= least / root) break;
    roots += root;
    left += least;
    price = left / roots;
  }
  return price;
}
