import type { Walk } from '../../walk/walk.ts';

/**
 * When a walk began: what it reads counts from then. One that goes on where an earlier one stopped keeps that one's
 * beginning, however long this run then waited for its first slot. What a cache on the way answered counts from when
 * that had it from the service.
 * @param startedAt when this run of the walk began
 * @param firstSentAt as of when its earliest answer is: when the request was sent, early by the way of an answer at
 *   most, less the answer's age. Neither is ever late, so that the later one is nearer
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
 * A moment that is not after the walk's beginning, also where this process takes the database's clock to be later than
 * it is: the first request is dated by the database itself. Whoever does away with what was noted before the walk goes
 * by this one.
 * @param startedAt and
 * @param firstSentAt as in `walkBegan`
 */
export function surelyBegan(walk: Pick<Walk, 'began' | 'agedMs'>, startedAt: Date, firstSentAt: Date): Date {
  const began = walkBegan(walk, startedAt, firstSentAt);
  return began < firstSentAt ? began : firstSentAt;
}
