import type { Walk } from '../../walk/walk.ts';

/**
 * When a walk began: what it reads counts as of then. A resumed walk keeps its first beginning, however long this run
 * waited for its first slot. An answer from a cache counts as of when the cache got it.
 * @param startedAt when this run of the walk began
 * @param firstSentAt when its first request was sent, less the answer's age; too early by at most the way of an
 *   answer. Both are never late, so the later one is nearer
 */
export function walkBegan(
  { began, agedMs }: Pick<Walk, 'began' | 'agedMs'>,
  startedAt: Date,
  firstSentAt: Date,
): Date {
  const started = startedAt.getTime();
  if (began !== started) return new Date(Math.min(began, started) - agedMs);
  return new Date(Math.max(started - agedMs, firstSentAt.getTime()));
}

/**
 * A moment that is surely not after the walk's beginning, even if this process takes the database's clock to be later
 * than it is: the database itself dates the first request. What was noted before this moment may be cleared by the
 * walk.
 * @param startedAt and
 * @param firstSentAt as in `walkBegan`
 */
export function surelyBegan(walk: Pick<Walk, 'began' | 'agedMs'>, startedAt: Date, firstSentAt: Date): Date {
  const began = walkBegan(walk, startedAt, firstSentAt);
  return began < firstSentAt ? began : firstSentAt;
}
