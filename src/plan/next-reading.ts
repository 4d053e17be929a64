import { type Alarms, isBelieved } from './alarms.ts';
import { changesPerMs } from './change-rate.ts';
import type { LearntChanges } from './learnt-changes.ts';

/** A scope that may be read, as of now. */
export interface Readable {
  /** Milliseconds since its last reading began; undefined: it was never read. */
  readonly sinceMs: number | undefined;
  /** It is read at least so often (ms), however little happens there. */
  readonly longestMs: number;
  readonly learnt: LearntChanges;
  /** One change in so long (ms) is taken for granted. */
  readonly priorMs: number;
  /** Share of its changes that nothing announces: a collection's own, of a list that of all lists. */
  readonly unannounced: number;
  /** A list's own row has changed since: how long ago (ms), and what came of that before. Left out: it has not. */
  readonly announced?: { readonly sinceMs: number; readonly alarms: Alarms } | undefined;
}

/** Why a scope is read: in the order in which these go. */
type ReadingCause = 'announced' | 'new' | 'due' | 'likely changed';

export interface ReadingNeed {
  readonly cause: ReadingCause;
  /** Among those of one cause, the greatest goes first. */
  readonly value: number;
}

const PLACES: Readonly<Record<ReadingCause, number>> = {
  announced: 3,
  new: 2,
  due: 1,
  'likely changed': 0,
};

/**
 * How urgent a reading is. First go lists whose row has changed, as long as that has meant something, or where they
 * are to be read in any case: never read, or not for longer than asked. Then new scopes. Then those that were not read
 * for longer than asked: the greater the ratio, the sooner, so that where there are too many all are late by one
 * factor. All others go by the freshness that a request buys. `dueScopes` (src/mirror/scope/scope-store.ts) says the
 * same of lists in SQL.
 */
export function needOf(scope: Readable): ReadingNeed {
  const { sinceMs, longestMs, announced } = scope;
  const inAnyCase = sinceMs === undefined || sinceMs >= longestMs;
  if (announced !== undefined && (inAnyCase || isBelieved(announced.alarms)))
    return { cause: 'announced', value: announced.sinceMs };
  if (sinceMs === undefined) return { cause: 'new', value: 0 };
  if (sinceMs >= longestMs) return { cause: 'due', value: sinceMs / longestMs };
  return { cause: 'likely changed', value: gainOf(scope, sinceMs) };
}

/**
 * Freshness that a reading buys: q·λ·τ²/2k, milliseconds of delay for a request. Whoever always reads where it is
 * greatest reads each scope at intervals that go with √(k/(q·λ)): of all ways to spend the requests, these make the
 * mean delay until a change is mirrored least (Lagrange: the last request of each scope gains the same).
 */
function gainOf({ learnt, priorMs, unannounced }: Readable, sinceMs: number): number {
  return (unannounced * changesPerMs(learnt, priorMs) * sinceMs * sinceMs) / (2 * learnt.cost);
}

/** Whether `a` goes before `b`: negative, as for sorting. */
export function compareNeeds(a: ReadingNeed, b: ReadingNeed): number {
  return PLACES[b.cause] - PLACES[a.cause] || b.value - a.value;
}

/** Lists that are asked for at once at most: a list that changes meanwhile comes soon. */
export const MOST_CHOSEN = 20;

/**
 * How many lists are chosen at once: of more than a run reads whatever their order, so few (a hundredth) that the
 * order is the planner's, and not that of a round (docs/design/plan.md, "The order of lists").
 */
export function listsAtOnce(lists: number): number {
  return lists <= MOST_CHOSEN ? MOST_CHOSEN : Math.min(MOST_CHOSEN, Math.ceil(lists / 100));
}

/**
 * Whether lists that have changed go before those that were not read for a day, in the batch of that number. Most
 * batches begin with the oldest: lists that change again and again starve none, and each is read daily as long as four
 * fifths of the requests suffice. Each fifth begins with what has changed: where they don't suffice, changes come soon.
 */
export function firstInBatch(batch: number): 'changed' | 'oldest' {
  return batch % 5 === 4 ? 'changed' : 'oldest';
}
