/**
 * Proof that this process may write for an account (invariant 9): every transaction that writes for the account
 * begins by locking the account's row under exactly this owner and token, and rolls back where it finds none.
 */
export interface Fence {
  readonly userId: string;
  /** `process_id` of the owner. */
  readonly owner: string;
  /** Fencing token: rises at every takeover. Decimal digits of a bigint. */
  readonly token: string;
}
