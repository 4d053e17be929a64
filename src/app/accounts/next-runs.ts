import { createHash } from 'node:crypto';
import { type Config, NEVER } from '../../config/config.ts';
import type { CollectionName } from '../../model/collections.ts';
import { CronLine } from '../../schedule/cron-line.ts';

/** When a collection is to be read next; null: never. */
export interface NextRuns {
  readonly nextPollAt: Date | null;
  readonly nextFullAt: Date | null;
}

/** The cron lines of the configuration. Moments are the database's. */
export interface Schedule {
  /** The account's next runs after `now`: full walks are spread by account. */
  after(userId: string, name: CollectionName, now: Date): NextRuns;
  /** No account's next runs are later than these. */
  latest(name: CollectionName, now: Date): NextRuns;
}

/** Full walks of many accounts begin within this time (ms) after their cron line, not all at its moment. */
const LONGEST_SPREAD_MS = 3_600_000;

export function createSchedule({ cron }: Pick<Config, 'cron'>): Schedule {
  const lines = new Map<string, CronLine>();
  const line = (expression: string): CronLine | undefined => {
    if (expression === NEVER) return undefined;
    const known = lines.get(expression) ?? new CronLine(expression);
    lines.set(expression, known);
    return known;
  };
  const nextPollAt = (name: CollectionName, now: Date): Date | null =>
    line(cron[name].poll)?.next(now) ?? null;
  return {
    after: (userId, name, now) => {
      const full = line(cron[name].full);
      return {
        nextPollAt: nextPollAt(name, now),
        nextFullAt: full === undefined ? null : nextSpread(full, shareOf(userId), now),
      };
    },
    latest: (name, now) => {
      const full = line(cron[name].full);
      const run = full?.next(now) ?? null;
      const nextFullAt =
        full === undefined || run === null ? null : new Date(run.getTime() + widthAt(full, run));
      return { nextPollAt: nextPollAt(name, now), nextFullAt };
    },
  };
}

/** The account's place in the spread: the same each time, from 0 up to 1. */
function shareOf(userId: string): number {
  return createHash('sha256').update(userId).digest().readUInt32BE(0) / 2 ** 32;
}

/**
 * The account's first moment after `now`: the line's own moment may be past, its place in the spread still to come.
 */
function nextSpread(line: CronLine, share: number, now: Date): Date | null {
  let run = line.next(new Date(now.getTime() - LONGEST_SPREAD_MS));
  while (run !== null) {
    const at = run.getTime() + Math.floor(widthAt(line, run) * share);
    if (at > now.getTime()) return new Date(at);
    run = line.next(run);
  }
  return null;
}

/** Over how long (ms) the full walks of a run are spread: an hour, or a quarter of the line's interval if shorter. */
function widthAt(line: CronLine, run: Date): number {
  const following = line.next(run);
  return following === null ? 0 : Math.min(LONGEST_SPREAD_MS, (following.getTime() - run.getTime()) / 4);
}
