import { isCopy, type Served } from '../../model/page.ts';

/** The first answer without a row. Moments are milliseconds. */
export interface FirstProof {
  /** When it was written, by the database's clock. */
  readonly at: number;
  /** Its `Date`, by the service's clock; undefined where it had none. */
  readonly servedAt?: number | undefined;
}

/** A later answer without it. */
export interface LaterAnswer {
  /** When its request was sent, by the database's clock. */
  readonly sentAt: number;
  /** Undefined: nothing is known of it. */
  readonly served?: Served | undefined;
}

/**
 * Whether an answer is a second proof (docs/design/deletions.md, "Second proof"): it was asked for at least the grace
 * period after the first one was written, and made as much later, too: a cache may send one copy twice. `Age` shows a
 * cache, and so does a `Date` that has not moved on. Dates are whole seconds; an answer without one is believed.
 */
export function isSecondProof(first: FirstProof, answer: LaterAnswer, gracePeriodMs: number): boolean {
  if (first.at > answer.sentAt - gracePeriodMs) return false;
  const { served } = answer;
  if (served === undefined) return true;
  if (isCopy(served)) return false;
  if (first.servedAt === undefined || served.date === undefined) return true;
  return served.date - first.servedAt >= Math.floor(gracePeriodMs / 1000) * 1000;
}
