import type { CollectionName } from '../collections.ts';

/** One of the rows that changed last, by its newest change. */
export interface LatestChange {
  /** When the mirror learnt it. */
  readonly at: string;
  readonly userId: string;
  readonly collection: CollectionName;
  /** As the row's own columns tell: it is deleted, has not changed since it came, or has. */
  readonly op: 'insert' | 'update' | 'delete';
  /** As in the view `changes`. */
  readonly key: string;
  /** Decimal digits. */
  readonly changeId: string;
}

/** The last 24 hours by half hours, the oldest first; the last one goes on. Walks count when they end. */
export interface LastDay {
  /** Rows inserted, updated and deleted; not that of `account`, whose credits change with each use. */
  readonly changes: readonly number[];
  readonly requests: readonly number[];
}

/** What is read of one account, for its page alone. */
export interface AccountDetails {
  /** The newest first. */
  readonly latestChanges: readonly LatestChange[];
  readonly lastDay: LastDay;
}
