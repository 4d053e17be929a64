import type { SET_MOMENTS } from '../../model/collection-columns.ts';
import type { Scope } from '../../model/collections.ts';
import type { WalkKind } from '../../model/sync-events.ts';

/** The end of a walk: its row of `sync_log`, and what it means for the collection's freshness. */
export interface WalkEnd {
  readonly scope: Scope;
  readonly kind: WalkKind;
  readonly startedAt: Date;
  /** `completed`, or why it ended early: `failed`, `stopped`, `superseded`, … */
  readonly outcome: string;
  readonly totals: WalkTotals;
  readonly error?: string;
  /** A poll between its cron line's runs that found nothing: there may be 35,000 a day, and none has a row. */
  readonly unlogged?: true;
  readonly collection?: CollectionChange;
}

/** Sums over a walk's pages, the last one included. */
export type WalkTotals = Readonly<Record<keyof typeof NO_WALK_TOTALS, number>>;

export const NO_WALK_TOTALS = {
  pages: 0,
  items: 0,
  inserted: 0,
  /** Rows whose content changed, undeleted ones included. */
  updated: 0,
  deleted: 0,
  unchanged: 0,
  quarantined: 0,
  requests: 0,
  /** Answers 429. */
  rateLimited: 0,
};

/** When a reading took place: it serves the runs that were due when it began, and misses those due since. */
export interface Keeps {
  readonly begun: Date;
  readonly ended: Date;
}

/** `{ polledAt?: Date, nextPollAt?: Date | null, … }` */
type SetMoments = {
  readonly [C in (typeof SET_MOMENTS)[number] as C['field']]?: C['kind'] extends 'due' ? Date | null : Date;
};

/** Changes of a collection's row in `freshness`; what is left out stays as it is. */
export interface CollectionChange extends SetMoments {
  /** Given with the next runs by a reading: a run that became due while it went on stays. */
  readonly keeps?: Keeps;
  /** A reading of everything was under way then. */
  readonly readingAt?: Date;
  /** Since when it is not mirrored, because nobody asks for it. */
  readonly pausedAt?: Date | null;
  readonly state?: 'current' | 'failing';
  /** A failure to show, or null: the last one is over. */
  readonly failure?: { readonly message: string; readonly at: Date } | null;
}
