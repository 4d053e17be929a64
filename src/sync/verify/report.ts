import type { UnequalItem } from '../../mirror/page/compare-rows.ts';
import type { CollectionName } from '../../model/collections.ts';

export interface Discrepancy extends Pick<UnequalItem, 'key' | 'fields'> {
  /**
   * What is known of a row after both sides were read twice:
   * - `missing`: the service has it, the mirror has not, or has it marked deleted
   * - `extra`: the mirror has it live, the service does not have it
   * - `different`: both have it, and not the same
   * - `changed`: nothing certain: a side changed while they were read, or the mirror suspects the row's deletion, and
   *   waits for the second proof
   */
  readonly kind: 'missing' | 'extra' | 'different' | 'changed';
  /** The list that the row belongs to; '' outside lists. */
  readonly list: string;
  /** More, for people; '' where there is nothing more. */
  readonly note: string;
}

/** How one collection of one account compares; it is counted on while the collection is read. */
export interface VerifiedCollection extends Record<
  Discrepancy['kind'] | 'requests' | 'rateLimited' | 'milliseconds',
  number
> {
  readonly userId: string;
  readonly collection: CollectionName;
  /** How many rows were chosen, whose pages alone were read; null: all of them were. */
  readonly sample: number | null;
  /** What the first reading is expected to take, at the rate that the account has. */
  readonly estimate: { readonly requests: number; readonly seconds: number };
  /** Items that the service has; of a sample those that were compared. */
  items: number;
  /** Live rows of the mirror. */
  rows: number;
  /** Items of the service that can't be mirrored: they are in quarantine. */
  quarantined: number;
  /** Items of the service that were erased here on request, and are kept out. */
  forgotten: number;
  /** How many of all these were read only once, since there are too many. */
  readOnce: number;
  /** The first 1,000; `changed` ones last. */
  discrepancies: Discrepancy[];
  /** Why it could not be read to its end; null when it was. */
  error: string | null;
}

/** How far a collection is read; a daemon of an older version gives no estimate. */
export type VerifyProgress = Pick<VerifiedCollection, 'userId' | 'collection' | 'items'> &
  Partial<Pick<VerifiedCollection, 'estimate'>>;

/** A verification that has not taken place. */
export function notVerified(
  userId: string,
  collection: CollectionName,
  error: string | null,
  estimate = { requests: 0, seconds: 0 },
  sample: number | null = null,
): VerifiedCollection {
  const counts = { items: 0, rows: 0, missing: 0, extra: 0, different: 0, changed: 0 };
  const others = { quarantined: 0, forgotten: 0, readOnce: 0, requests: 0, rateLimited: 0, milliseconds: 0 };
  return { userId, collection, sample, estimate, ...counts, ...others, discrepancies: [], error };
}
