import type { SET_MOMENTS } from './collection-columns.ts';
import type { CollectionName, Scope } from './collections.ts';

/** `confirm`: reads suspected deletions again; `deletion`: deletes what was proven, without a request. */
export const WALK_KINDS = ['poll', 'refresh', 'full', 'confirm', 'deletion', 'single'] as const;
type WalkKind = (typeof WALK_KINDS)[number];

/** How a walk ended. */
export const WALK_OUTCOMES = ['complete', 'failed', 'interrupted'] as const;

export interface WalkStarted {
  readonly scope: Scope;
  readonly kind: WalkKind;
  readonly resumed: boolean;
}

/** What one page's transaction did. */
export interface PageWritten extends Readonly<
  Record<'items' | 'inserted' | 'updated' | 'unchanged' | 'quarantined', number>
> {
  readonly scope: Scope;
  readonly kind: WalkKind;
}

export interface WalkEnded extends Readonly<
  Record<'pages' | 'items' | 'inserted' | 'updated' | 'milliseconds', number>
> {
  readonly scope: Scope;
  readonly kind: WalkKind;
  readonly outcome: (typeof WALK_OUTCOMES)[number];
  /** Why it failed; undefined otherwise. */
  readonly error: Error | undefined;
}

export interface SuspectsWait {
  readonly userId: string;
  readonly collection: CollectionName;
  /** Rows that wait for a second observation. */
  readonly rows: number;
  readonly milliseconds: number;
}

export interface DeletionsJudged {
  /** For items that went with their lists: the whole collection, without a parent. */
  readonly scope: Scope;
  /** Rows of the scope's own collection. */
  readonly deleted: number;
}

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

/** How many rows of each collection; those without any are left out. */
export type RowsByCollection = ReadonlyMap<CollectionName, number>;

/** Sums over walks of a collection, and over the deletions that they proved. */
export interface ReadTotals extends WalkTotals {
  /** Rows of other collections that were deleted with theirs. */
  readonly along: RowsByCollection;
}

export const NO_TOTALS: ReadTotals = { ...NO_WALK_TOTALS, along: new Map() };

const COUNTS = Object.keys(NO_WALK_TOTALS) as readonly (keyof WalkTotals)[];

/** Sums of two walks, or of a walk and one more page. */
export function addTotals(a: ReadTotals, b: Partial<ReadTotals>): ReadTotals {
  const sums = { ...NO_WALK_TOTALS };
  for (const name of COUNTS) sums[name] = a[name] + (b[name] ?? 0);
  return { ...sums, along: addRows(a.along, b.along) };
}

function addRows(a: RowsByCollection, b: RowsByCollection = new Map()): RowsByCollection {
  const sums = new Map<CollectionName, number>(a);
  for (const [name, rows] of b) if (rows > 0) sums.set(name, (sums.get(name) ?? 0) + rows);
  return sums;
}

/** What a page's outcomes add to its walk's totals. */
export function totalsOf(
  counts: Readonly<
    Record<'inserted' | 'updated' | 'undeleted' | 'unchanged' | 'duplicate' | 'quarantined', number>
  >,
): Pick<WalkTotals, 'inserted' | 'updated' | 'unchanged' | 'quarantined'> {
  return {
    inserted: counts.inserted,
    updated: counts.updated + counts.undeleted,
    unchanged: counts.unchanged + counts.duplicate,
    quarantined: counts.quarantined,
  };
}

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
