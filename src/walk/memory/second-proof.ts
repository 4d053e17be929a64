import { isCopy, type Served } from '../../model/page.ts';

/** An answer that told that a row is gone. Moments are milliseconds. */
export interface FirstProof {
  /** When it was written, by the database's clock. */
  readonly at: number;
  /** Its `Date`, by the service's clock; undefined where it had none. */
  readonly servedAt?: number | undefined;
}

/** An answer that tells the same again. */
export interface LaterAnswer {
  /** When its request was sent, by the database's clock. */
  readonly sentAt: number;
  /** Undefined: nothing is known of it. */
  readonly served?: Served | undefined;
}

/**
 * Whether an answer is a second proof beside a first (docs/design/deletions.md, "Second proof"): asked for at least the settle time after that was
 * there, and made as much later, too. A cache may give one copy twice, which proves no more than once: `Age` tells of
 * a cache, and a `Date` that has not moved on of one that tells nothing. The service's clock is compared with itself
 * alone, in the whole seconds that a `Date` has; an answer without one is believed.
 * @param gracePeriodMs least time between two proofs: more than a replica lags
 */
export function isSecondProof(first: FirstProof, answer: LaterAnswer, gracePeriodMs: number): boolean {
  if (first.at > answer.sentAt - gracePeriodMs) return false;
  const { served } = answer;
  if (served === undefined) return true;
  if (isCopy(served)) return false;
  if (first.servedAt === undefined || served.date === undefined) return true;
  return served.date - first.servedAt >= Math.floor(gracePeriodMs / 1000) * 1000;
}
