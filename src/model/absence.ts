/** Proofs of absence, and suspected deletions between two proofs (docs/design/deletions.md). */

/**
 * What a page proves absent:
 * - `snapshot` (P0): the page is the whole scope
 * - `interval` (P1): in trusted order, exactly the keys behind `after` (null: from the top) up to and including
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
 * equal second one (`pair`, P2). `returned`: it came back so soon that the page may be stale.
 */
export type SuspectKind = AbsenceProof['kind'] | 'pair' | 'returned';

/** A second observation decides. Times are milliseconds since the epoch. */
export interface SuspectedDeletion {
  readonly key: string;
  readonly kind: SuspectKind;
  /** When it was written, by the database's clock. */
  readonly at: number;
  /** `Date` of the answer, by the service's clock; left out if it had none. */
  readonly servedAt?: number;
  /** The second proof has come: the row is deleted as soon as the brake allows. */
  readonly proven: boolean;
}

/** A live row of the mirror that a proof shows absent; when it was last inserted, changed or undeleted. */
export type MissingRow = Readonly<{ key: string; changedAt: number }>;

/** Changes of a scope's suspects by one observation. */
export interface SuspectChange {
  /** Each replaces a suspect of the same key. */
  readonly add: readonly Pick<SuspectedDeletion, 'key' | 'kind'>[];
  /** `prove` and `withdraw` skip keys that are not suspected. */
  readonly prove: readonly string[];
  readonly withdraw: readonly string[];
  /** The order was contradicted: withdraws all suspects of kind `interval`, proven ones too. */
  readonly withdrawOrdered: boolean;
  /** `Date` of the answer that proves `add`, by the service's clock; left out if it had none. */
  readonly servedAt?: number;
}

export const NO_SUSPECTS: SuspectChange = { add: [], prove: [], withdraw: [], withdrawOrdered: false };
