import type { FieldDifference } from '../../mirror/page/compare-rows.ts';
import type { CollectionName } from '../../model/collections.ts';

/**
 * What is known of a row after both sides were read twice:
 * - `missing`: the service has it, the mirror has not, or has it marked deleted
 * - `extra`: the mirror has it live, the service does not have it
 * - `different`: both have it, and not the same
 * - `changed`: nothing certain: a side changed while they were read, or the mirror suspects the row's deletion, and
 *   waits for the second proof
 */
export type DiscrepancyKind = 'missing' | 'extra' | 'different' | 'changed';

export const DISCREPANCY_KINDS: readonly DiscrepancyKind[] = ['missing', 'extra', 'different', 'changed'];

export interface Discrepancy {
  readonly kind: DiscrepancyKind;
  /** The list that the row belongs to; '' outside lists. */
  readonly list: string;
  /** Undefined for an item that has none that can be stored. */
  readonly key: string | undefined;
  /** Of a `different` row: where. */
  readonly fields: readonly FieldDifference[];
  /** More, for people; '' where there is nothing more. */
  readonly note: string;
}

/** How one collection of one account compares. */
export interface VerifiedCollection {
  readonly userId: string;
  readonly collection: CollectionName;
  /** Items that the service has. */
  readonly items: number;
  /** Live rows of the mirror. */
  readonly rows: number;
  readonly missing: number;
  readonly extra: number;
  readonly different: number;
  readonly changed: number;
  /** Items of the service that can't be mirrored: they are in quarantine. */
  readonly quarantined: number;
  /** Items of the service that were erased here on request, and are kept out. */
  readonly forgotten: number;
  /** How many of all these were read only once, since there are too many. */
  readonly readOnce: number;
  /** The first ones; `changed` ones last. */
  readonly discrepancies: readonly Discrepancy[];
  readonly requests: number;
  readonly rateLimited: number;
  readonly milliseconds: number;
  /** Why it could not be read to its end; null when it was. */
  readonly error: string | null;
}

/** How far a collection is read; sums. */
export interface VerifyProgress {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly items: number;
  /** Rows that differ so far, by one reading. */
  readonly unequal: number;
}

/** A verification that did not take place. */
export function notVerified(userId: string, collection: CollectionName, error: string): VerifiedCollection {
  return {
    userId,
    collection,
    items: 0,
    rows: 0,
    missing: 0,
    extra: 0,
    different: 0,
    changed: 0,
    quarantined: 0,
    forgotten: 0,
    readOnce: 0,
    discrepancies: [],
    requests: 0,
    rateLimited: 0,
    milliseconds: 0,
    error,
  };
}
