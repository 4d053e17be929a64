import { createHash } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { NEVER } from '../../config/values/parse-cron.ts';
import type { CollectionName } from '../../model/collections.ts';
import { CronLine } from '../../schedule/cron-line.ts';

/** When a collection is to be read next; null: never. */
export interface NextRuns {
  readonly nextPollAt: Date | null;
  readonly nextFullAt: Date | null;
}

/** The cron lines of the configuration. Moments are the database's. */
export type Schedule = ReturnType<typeof createSchedule>;

/**
 * Many accounts begin within some time after their cron line, not all at its moment: a part of the line's interval, or
 * so long (ms) where that is less.
 */
interface Spread {
  readonly part: number;
  readonly longest: number;
}
const SPREAD = {
  poll: { part: 0.75, longest: 45_000 },
  full: { part: 0.25, longest: 3_600_000 },
} as const satisfies Readonly<Record<string, Spread>>;

export function createSchedule({ cron }: Pick<Config, 'cron'>) {
  const lines = new Map<string, CronLine>();
  const line = (expression: string): CronLine | undefined => {
    if (expression === NEVER) return undefined;
    const known = lines.get(expression) ?? new CronLine(expression);
    lines.set(expression, known);
    return known;
  };
  return {
    /** The account's next runs after `now`: both are spread by account. */
    after: (userId: string, name: CollectionName, now: Date): NextRuns => {
      const share = shareOf(userId);
      return {
        nextPollAt: nextSpread(line(cron.poll[name]), SPREAD.poll, share, now),
        nextFullAt: nextSpread(line(cron.full[name]), SPREAD.full, share, now),
      };
    },
    /** No account's next runs are later than these. */
    latest: (name: CollectionName, now: Date): NextRuns => ({
      nextPollAt: latestRun(line(cron.poll[name]), SPREAD.poll, now),
      nextFullAt: latestRun(line(cron.full[name]), SPREAD.full, now),
    }),
  };
}

/** The account's place in the spread: the same each time, from 0 up to 1. */
function shareOf(userId: string): number {
  return createHash('sha256').update(userId).digest().readUInt32BE(0) / 2 ** 32;
}

/**
 * The account's first moment after `now`: the line's own moment may be past, its place in the spread still to come.
 */
function nextSpread(line: CronLine | undefined, spread: Spread, share: number, now: Date): Date | null {
  if (line === undefined) return null;
  let run = line.next(new Date(now.getTime() - spread.longest));
  while (run !== null) {
    const at = run.getTime() + Math.floor(widthAt(line, spread, run) * share);
    if (at > now.getTime()) return new Date(at);
    run = line.next(run);
  }
  return null;
}

function latestRun(line: CronLine | undefined, spread: Spread, now: Date): Date | null {
  const run = line?.next(now) ?? null;
  return line === undefined || run === null ? null : new Date(run.getTime() + widthAt(line, spread, run));
}

/** Over how long (ms) the accounts of a run are spread. */
function widthAt(line: CronLine, { part, longest }: Spread, run: Date): number {
  const following = line.next(run);
  return following === null ? 0 : Math.min(longest, (following.getTime() - run.getTime()) * part);
}
