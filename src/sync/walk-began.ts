import type { Walk } from '../walk/walk.ts';

/**
 * When a walk began: what it reads counts from then. One that goes on where an earlier one stopped keeps that one's
 * beginning, however long this run then waited for its first slot.
 * @param startedAt when this run of the walk began
 * @param firstSentAt when its first request was sent, early by the way of an answer at most: neither is ever late, so
 *   that the later one is nearer
 */
export function walkBegan({ began }: Pick<Walk, 'began'>, startedAt: Date, firstSentAt: Date): Date {
  const least = startedAt > firstSentAt ? startedAt : firstSentAt;
  return began === startedAt.getTime() ? least : new Date(Math.min(began, startedAt.getTime()));
}

/**
 * A moment that is not after the walk's beginning, also where this process takes the database's clock to be later than
 * it is: the first request is dated by the database itself. Whoever does away with what was noted before the walk goes
 * by this one.
 * @param startedAt and
 * @param firstSentAt as in `walkBegan`
 */
export function surelyBegan(walk: Pick<Walk, 'began'>, startedAt: Date, firstSentAt: Date): Date {
  const began = walkBegan(walk, startedAt, firstSentAt);
  return began < firstSentAt ? began : firstSentAt;
}
