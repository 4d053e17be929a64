import type { LearntChanges } from './learnt-changes.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/**
 * After so long (ms) what was seen counts half. Of a list that changes once a week, six hours show nothing: with two
 * days the readings of 5,000 lists come closer to the best ones by a third, and a week adds next to nothing
 * (bench/README.md, "freshness").
 */
export const HALF_LIFE_MS = { collection: 6 * HOUR, list: 2 * DAY } as const;
/** What is taken for granted before anything was seen: one change in so long (ms). It does not fade. */
export const PRIOR_MS = { collection: HOUR, list: DAY } as const;

/** However little happens in a list, it is read so often (ms). */
export const LONGEST_MS = DAY;

type ScopeKind = keyof typeof PRIOR_MS;

/** One reading. */
export interface SeenChanges {
  /** Since the reading before it began; 0 for one that looked at single rows. */
  readonly elapsedMs: number;
  readonly changes: number;
  readonly announced: number;
  /** 0: it says nothing of what a whole reading costs. */
  readonly requests: number;
}

/** How much a reading's requests move the mean. */
const COST_WEIGHT = 0.2;

/**
 * What is known after a reading. Changes may have come at any moment since the last reading: they count as much as the
 * mean moment between the two, as the time itself does. Else a reading after a long while would show too high a rate.
 */
export function learn(kind: ScopeKind, known: LearntChanges, seen: SeenChanges): LearntChanges {
  const elapsed = Math.max(0, seen.elapsedMs);
  const kept = 2 ** (-elapsed / HALF_LIFE_MS[kind]);
  const watched = ((1 - kept) * HALF_LIFE_MS[kind]) / Math.LN2;
  const part = elapsed === 0 ? 1 : watched / elapsed;
  return {
    changes: known.changes * kept + seen.changes * part,
    announced: known.announced * kept + Math.min(seen.announced, seen.changes) * part,
    watchedMs: known.watchedMs * kept + watched,
    cost: seen.requests === 0 ? known.cost : known.cost + (seen.requests - known.cost) * COST_WEIGHT,
  };
}

/** Changes per millisecond: never 0, so that each scope's turn comes. */
export function changesPerMs({ changes, watchedMs }: LearntChanges, priorMs: number): number {
  return (1 + changes) / (priorMs + watchedMs);
}

/** No announcer is believed further: so large a share of the changes is expected to come unannounced. */
const LEAST_UNANNOUNCED = 0.02;
/** Changes without announcement that are taken for granted: whoever announces has to prove it. */
const UNPROVEN = 2;

/**
 * Share of the changes that nothing announces, from 0.02 up to 1: what readings without a cause are for. What was
 * announced fades, so when events stop coming it goes back to 1, and polls take their place.
 */
export function unannouncedShare({
  changes,
  announced,
}: Pick<LearntChanges, 'changes' | 'announced'>): number {
  const silent = Math.max(0, changes - announced);
  return Math.max(LEAST_UNANNOUNCED, (UNPROVEN + silent) / (UNPROVEN + Math.max(changes, announced)));
}
