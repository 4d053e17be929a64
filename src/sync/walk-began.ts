import type { Walk } from '../walk/walk.ts';

/**
 * When a walk began, by the database's clock: what it reads counts from then. A walk keeps its beginning by the clock of
 * the machine that began it (it may go on where an earlier one stopped); the two clocks need not agree.
 * @param startedAt when this run of the walk began, by this machine's clock
 * @param firstSentAt when its first request was sent, by the database's clock
 */
export function walkBegan({ began }: Pick<Walk, 'began'>, startedAt: Date, firstSentAt: Date): Date {
  return new Date(began - startedAt.getTime() + firstSentAt.getTime());
}
