/**
 * Words of deletion (docs/design/deletions.md): what a page proves absent, and the rows in doubt between a first proof and a second.
 */

/**
 * What the answer to one list request says of rows that it does not hold:
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
 * By what a row is in doubt. Absent: from a `snapshot`, from an `interval`, or from a whole walk that needs a second
 * one like it (`pair`, P2). `returned`: it was seen, but so soon after the observation that says otherwise that the
 * page may be stale.
 */
export type SuspectKind = AbsenceProof['kind'] | 'pair' | 'returned';

/** A row in doubt; a second observation decides. Moments are milliseconds since the epoch, by the database's clock. */
export interface SuspectedDeletion {
  readonly key: string;
  readonly kind: SuspectKind;
  /** Observation number of the answer that raised the doubt. */
  readonly obs: number;
  /** When that answer was written. */
  readonly at: number;
  /** Its `Date`, by the service's clock; left out where it had none. */
  readonly servedAt?: number;
  /** The second proof has come: the row goes as soon as the brake lets it. */
  readonly proven: boolean;
}

/** A live row of the mirror that a proof's answer does not hold. */
export interface MissingRow {
  readonly key: string;
  /** When it was last inserted, changed or undeleted. */
  readonly changedAt: number;
}

/** What an observation changes of a scope's rows in doubt. Keys without a candidate are passed over by `prove` and `withdraw`. */
export interface SuspectChange {
  /** Takes the place of a candidate that is there. */
  readonly add: readonly Pick<SuspectedDeletion, 'key' | 'kind'>[];
  readonly prove: readonly string[];
  readonly withdraw: readonly string[];
  /** The order was contradicted: all candidates of kind `interval` go, proven ones too. */
  readonly withdrawOrdered: boolean;
  /** `Date` of the answer by which candidates are added, by the service's clock; left out where it had none. */
  readonly servedAt?: number;
}

export const NO_SUSPECTS: SuspectChange = { add: [], prove: [], withdraw: [], withdrawOrdered: false };
