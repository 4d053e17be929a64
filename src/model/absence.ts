/** Words of deletion (docs/design/deletions.md): proofs of absence, and suspected deletions between two of them. */

/**
 * What a page proves absent:
 * - `snapshot` (P0): it is the whole scope
 * - `interval` (P1): in trusted order, exactly what lies after `after` (null: from the top) up to and including
 *   `through` (null: to the end)
 */
export type AbsenceProof =
  | { readonly kind: 'snapshot' }
  | {
      readonly kind: 'interval';
      readonly direction: 'falling' | 'rising';
      readonly after: string | null;
      readonly through: string | null;
    };

/**
 * Why a row is suspected: it is absent from a `snapshot`, from an `interval`, or from a whole walk that needs an
 * equal second one (`pair`, P2). `returned`: it came back so soon after it was absent that the page may be stale.
 */
export type SuspectKind = AbsenceProof['kind'] | 'pair' | 'returned';

/** A second observation decides. Moments are milliseconds since the epoch, by the database's clock. */
export interface SuspectedDeletion {
  readonly key: string;
  readonly kind: SuspectKind;
  /** When it was written. */
  readonly at: number;
  /** Its `Date`, by the service's clock; left out where it had none. */
  readonly servedAt?: number;
  /** The second proof has come: the row is deleted as soon as the brake allows. */
  readonly proven: boolean;
}

/** A live row of the mirror that a proof shows absent. */
export interface MissingRow {
  readonly key: string;
  /** When it was last inserted, changed or undeleted. */
  readonly changedAt: number;
}

/** What an observation changes of a scope's suspects. `prove` and `withdraw` skip keys that are none. */
export interface SuspectChange {
  /** Each replaces a suspect of the same key. */
  readonly add: readonly Pick<SuspectedDeletion, 'key' | 'kind'>[];
  readonly prove: readonly string[];
  readonly withdraw: readonly string[];
  /** The order was contradicted: withdraws all suspects of kind `interval`, proven ones too. */
  readonly withdrawOrdered: boolean;
  /** `Date` of the answer that proves `add`, by the service's clock; left out where it had none. */
  readonly servedAt?: number;
}

export const NO_SUSPECTS: SuspectChange = { add: [], prove: [], withdraw: [], withdrawOrdered: false };
