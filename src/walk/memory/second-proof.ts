import { isCopy, type Served } from '../../model/page.ts';

/**
 * Whether an answer is a second proof (docs/design/deletions.md, "Second proof"): it was asked for at least the grace
 * period after the first one was written, and made as much later, too: a cache may send one copy twice. `Age` shows a
 * cache, and so does a `Date` that has not moved on. Dates are whole seconds; an answer without one is believed.
 * @param first `at`: when it was written (ms, the database's clock); `servedAt`: its `Date` (ms), if it had one
 * @param answer `sentAt`: when its request was sent, as `at`; `served`: what is known of it
 */
export function isSecondProof(
  first: { readonly at: number; readonly servedAt?: number | undefined },
  answer: { readonly sentAt: number; readonly served?: Served | undefined },
  gracePeriodMs: number,
): boolean {
  if (first.at > answer.sentAt - gracePeriodMs) return false;
  const { served } = answer;
  if (served === undefined) return true;
  if (isCopy(served)) return false;
  if (first.servedAt === undefined || served.date === undefined) return true;
  return served.date - first.servedAt >= Math.floor(gracePeriodMs / 1000) * 1000;
}
