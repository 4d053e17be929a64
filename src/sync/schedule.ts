import { createTask, parse, type ScheduledTask } from 'node-cron';
import { createHash } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { CRON_NEVER } from '../config/parse-cron.ts';
import type { CollectionName } from '../model/collections.ts';

const DAY_MS = 86_400_000;
/** 29 February falls on a given weekday once in 28 years, or in 40 where a century has no leap day. */
const FURTHEST_DAYS = 41 * 366;

/**
 * The runs of a cron line, computed from the line and a given moment: no process has to be awake. Lines are UTC,
 * since in local time node-cron skips the hour that daylight saving repeats.
 */
export class CronLine {
  readonly #hours: readonly number[];
  readonly #minutes: readonly number[];
  readonly #months: ReadonlySet<number>;
  readonly #days: readonly (number | string)[];
  readonly #weekdays: readonly (number | string)[];
  /**
   * Asked only where a field has words such as L (the last day): it takes a fifth of a millisecond for a day, and eight
   * megabytes, since it asks what is known of the world's time zones.
   */
  readonly #task: ScheduledTask | undefined;
  /** The day that was looked at last. */
  #looked: { readonly day: number; readonly fires: boolean } | undefined;

  /** @param expression five fields in node-cron's dialect, or a name such as `@daily`; validated by config */
  constructor(expression: string) {
    const { minute, hour, month, dayOfMonth, dayOfWeek } = parse(expression);
    this.#minutes = minute.toSorted((a, b) => a - b);
    this.#hours = hour.toSorted((a, b) => a - b);
    this.#months = new Set(month);
    this.#days = dayOfMonth;
    this.#weekdays = dayOfWeek;
    if ([dayOfMonth, dayOfWeek].some(hasWords))
      this.#task = createTask(expression, () => {}, { timezone: 'UTC' });
  }

  /** Its first run after that moment; null: none. */
  next(after: Date): Date | null {
    const first = Math.floor(after.getTime() / DAY_MS) * DAY_MS;
    for (let day = first; day < first + FURTHEST_DAYS * DAY_MS; day += DAY_MS) {
      if (!this.#firesOn(day)) continue;
      for (const hour of this.#hours) {
        const begin = day + hour * 3_600_000;
        if (begin + 3_600_000 <= after.getTime()) continue;
        for (const minute of this.#minutes) {
          if (begin + minute * 60_000 > after.getTime()) return new Date(begin + minute * 60_000);
        }
      }
    }
    return null;
  }

  #firesOn(day: number): boolean {
    if (this.#looked?.day === day) return this.#looked.fires;
    const date = new Date(day);
    const fires =
      this.#months.has(date.getUTCMonth() + 1) &&
      may(this.#days, date.getUTCDate()) &&
      may(this.#weekdays, date.getUTCDay()) &&
      (this.#task?.match(new Date(this.#firstOf(day))) ?? true);
    this.#looked = { day, fires };
    return fires;
  }

  #firstOf(day: number): number {
    return day + (this.#hours[0] ?? 0) * 3_600_000 + (this.#minutes[0] ?? 0) * 60_000;
  }
}

function hasWords(values: readonly (number | string)[]): boolean {
  return values.some((each) => typeof each === 'string');
}

/** Numbers decide by themselves, all fields together; words are left to node-cron. */
function may(values: readonly (number | string)[], value: number): boolean {
  return values.includes(value) || hasWords(values);
}

/** When a collection is to be read next; null: never. */
export interface NextRuns {
  readonly nextPollAt: Date | null;
  readonly nextFullAt: Date | null;
}

/** When a collection’s cron lines poll and walk it next, after `after`. */
export type RunsAfter = (name: CollectionName, after: Date) => NextRuns;

/** As stored; `paused`: nobody was asked to mirror it. */
type StoredRuns = NextRuns & { readonly paused: boolean };

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
    if (expression === CRON_NEVER) return undefined;
    const known = lines.get(expression) ?? new CronLine(expression);
    lines.set(expression, known);
    return known;
  };
  return {
    /** The account's next runs of a collection: both are spread by account. */
    of: (userId: string): RunsAfter => {
      const share = shareOf(userId);
      return (name, after) => ({
        nextPollAt: nextSpread(line(cron.poll[name]), SPREAD.poll, share, after),
        nextFullAt: nextSpread(line(cron.full[name]), SPREAD.full, share, after),
      });
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

/**
 * Which stored next runs have to be changed. One that is earlier than the cron line's next run stays, however long
 * ago it was: it is a misfire. A later one came from another cron line, or from before the database's clock went
 * back: the line's next run replaces it. Where none is stored, the line's is, so that a restart in a first walk
 * forgets no run.
 * @param next the cron lines' next runs of the collection
 */
export function correctedRuns(
  names: readonly CollectionName[],
  stored: ReadonlyMap<string, StoredRuns>,
  next: (name: CollectionName) => NextRuns,
): ReadonlyMap<CollectionName, NextRuns> {
  const changes = new Map<CollectionName, NextRuns>();
  for (const name of names) {
    const found = stored.get(name);
    const line = next(name);
    const nextPollAt = earlier(found?.nextPollAt ?? null, line.nextPollAt);
    const nextFullAt = earlier(found?.nextFullAt ?? null, line.nextFullAt);
    const same =
      found !== undefined &&
      found.nextPollAt?.getTime() === nextPollAt?.getTime() &&
      found.nextFullAt?.getTime() === nextFullAt?.getTime();
    if (!same || found.paused) changes.set(name, { nextPollAt, nextFullAt });
  }
  return changes;
}

function earlier(stored: Date | null, next: Date | null): Date | null {
  return stored === null || next === null || next < stored ? next : stored;
}
