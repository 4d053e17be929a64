import type { SET_MOMENTS } from './collection-columns.ts';
import type { CollectionName, Scope } from './collections.ts';

/** `confirm`: reads suspected deletions again; `deletion`: deletes proven ones, without a request. */
export const WALK_KINDS = ['poll', 'refresh', 'full', 'confirm', 'deletion', 'single'] as const;
type WalkKind = (typeof WALK_KINDS)[number];

export const WALK_OUTCOMES = ['complete', 'failed', 'interrupted'] as const;

export type WalkStarted = Readonly<{ scope: Scope; kind: WalkKind; resumed: boolean }>;

/** One page's transaction. */
export type PageWritten = { readonly scope: Scope; readonly kind: WalkKind } & Readonly<
  Record<'items' | 'inserted' | 'updated' | 'unchanged' | 'quarantined', number>
>;

export interface WalkEnded extends Readonly<
  Record<'pages' | 'items' | 'inserted' | 'updated' | 'milliseconds', number>
> {
  readonly scope: Scope;
  readonly kind: WalkKind;
  readonly outcome: (typeof WALK_OUTCOMES)[number];
  /** Set if it failed. */
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
  /** Deleted rows of the scope's own collection. */
  readonly deleted: number;
}

/** The end of a walk: its row of `sync_log`, and the change of the collection's freshness. */
export interface WalkEnd {
  readonly scope: Scope;
  readonly kind: WalkKind;
  readonly startedAt: Date;
  /** `completed`, or why it ended early: `failed`, `stopped`, `superseded`, … */
  readonly outcome: string;
  readonly totals: WalkTotals;
  readonly error?: string;
  /** A poll between two runs of its cron line that found nothing: of up to 35,000 a day, none has a row. */
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

/** Number of rows by collection; collections without any are left out. */
export type RowsByCollection = ReadonlyMap<CollectionName, number>;

/** Sums over walks of a collection, and over the deletions that they proved. */
export interface ReadTotals extends WalkTotals {
  /** Rows of other collections that were deleted along. */
  readonly along: RowsByCollection;
}

export const NO_TOTALS: ReadTotals = { ...NO_WALK_TOTALS, along: new Map() };

/** Sums of two walks, or of a walk and one more page. */
export function addTotals(a: ReadTotals, b: Partial<ReadTotals>): ReadTotals {
  const sums = { ...NO_WALK_TOTALS };
  for (const name of Object.keys(sums) as (keyof WalkTotals)[]) sums[name] = a[name] + (b[name] ?? 0);
  const along = new Map(a.along);
  for (const [name, rows] of b.along ?? []) if (rows > 0) along.set(name, (along.get(name) ?? 0) + rows);
  return { ...sums, along };
}

/** What a page's outcomes add to its walk's totals. */
export function totalsOf(
  counts: Readonly<Record<'inserted' | 'updated' | 'undeleted' | 'unchanged' | 'duplicate' | 'quarantined', number>>,
): Pick<WalkTotals, 'inserted' | 'updated' | 'unchanged' | 'quarantined'> {
  return {
    inserted: counts.inserted,
    updated: counts.updated + counts.undeleted,
    unchanged: counts.unchanged + counts.duplicate,
    quarantined: counts.quarantined,
  };
}

/** Changes of a collection's row in `freshness`; fields that are left out stay. */
export type CollectionChange = {
  readonly [C in (typeof SET_MOMENTS)[number] as C['field']]?: C['kind'] extends 'due' ? Date | null : Date;
} & {
  /** Time of the reading that sets the next runs. It served those due at its begin; runs that became due since stay. */
  readonly keeps?: Readonly<Record<'begun' | 'ended', Date>>;
  /** A reading of everything was running then. */
  readonly readingAt?: Date;
  /** Not mirrored since, as no daemon is configured for it. */
  readonly pausedAt?: Date | null;
  readonly state?: 'current' | 'failing';
  /** A failure to show; null: the last one is over. */
  readonly failure?: { readonly message: string; readonly at: Date } | null;
};
