import type { ReadTotals } from '../walk-run/walk-totals.ts';

export interface ConfirmOptions {
  readonly signal: AbortSignal;
  /** Lifts the brake. */
  readonly accept: boolean;
}

export interface FinishOptions extends ConfirmOptions {
  /** Waits for second proofs; else suspects are left to later readings. */
  readonly patient: boolean;
  /** Takes the turn for one more full walk of a scope. */
  readonly walkTurn: <T>(task: () => Promise<T>) => Promise<T>;
}

/** What became of a collection's suspects. */
export interface ConfirmResult {
  readonly totals: ReadTotals;
  /** The first failure; other scopes were finished all the same. */
  readonly error: Error | undefined;
  /** Rows that a full reading found missing, and that no second one has confirmed: they wait for the next. */
  readonly unproven: number;
}
