import { createTask, parse, type ScheduledTask } from 'node-cron';
import { createHash } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { CRON_NEVER } from '../config/parse-cron.ts';
import type { CollectionName } from '../model/collections.ts';

const DAY_MS = 86_400_000;
/** 29 February falls on a given weekday once in 28 years, or in 40 if a century has no leap day. */
const FURTHEST_DAYS = 41 * 366;

/**
 * The runs of a cron line, computed from the line and a given time, so that no process has to be awake. Lines are UTC:
 * in local time node-cron skips the hour that daylight saving repeats.
 */
export class CronLine {
  /** `hour` and `minute` are sorted. */
  readonly #fields: ReturnType<typeof parse>;
  /**
   * Set only if a field has words such as L (the last day). It takes 0.2 ms for a day, and eight megabytes, since it
   * loads the world's time zones.
   */
  readonly #task: ScheduledTask | undefined;
  /** The day that was checked last. */
  #checked: { readonly day: number; readonly fires: boolean } | undefined;

  /** @param expression five fields in node-cron's dialect, or a name such as `@daily`; validated by config */
  constructor(expression: string) {
    const fields = parse(expression);
    const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);
    this.#fields = { ...fields, hour: sorted(fields.hour), minute: sorted(fields.minute) };
    if ([fields.dayOfMonth, fields.dayOfWeek].some(hasWords))
      this.#task = createTask(expression, () => {}, { timezone: 'UTC' });
  }

  /** Its first run after that time; null: none. */
  next(after: Date): Date | null {
    const first = Math.floor(after.getTime() / DAY_MS) * DAY_MS;
    for (let day = first; day < first + FURTHEST_DAYS * DAY_MS; day += DAY_MS) {
      if (!this.#firesOn(day)) continue;
      for (const hour of this.#fields.hour) {
        const begin = day + hour * 3_600_000;
        if (begin + 3_600_000 <= after.getTime()) continue;
        for (const minute of this.#fields.minute) {
          if (begin + minute * 60_000 > after.getTime()) return new Date(begin + minute * 60_000);
        }
      }
    }
    return null;
  }

  #firesOn(day: number): boolean {
    if (this.#checked?.day === day) return this.#checked.fires;
    const date = new Date(day);
    const { hour, minute, month, dayOfMonth, dayOfWeek } = this.#fields;
    const firstRun = day + (hour[0] ?? 0) * 3_600_000 + (minute[0] ?? 0) * 60_000;
    const fires =
      month.includes(date.getUTCMonth() + 1) &&
      may(dayOfMonth, date.getUTCDate()) &&
      may(dayOfWeek, date.getUTCDay()) &&
      (this.#task?.match(new Date(firstRun)) ?? true);
    this.#checked = { day, fires };
    return fires;
  }
}

function hasWords(values: readonly (number | string)[]): boolean {
  return values.some((each) => typeof each === 'string');
}

/** Whether the field allows the value; words are left to node-cron. */
function may(values: readonly (number | string)[], value: number): boolean {
  return values.includes(value) || hasWords(values);
}

/** When a collection is to be read next; null: never. */
export type NextRuns = Readonly<{ nextPollAt: Date | null; nextFullAt: Date | null }>;

/** When a collection's cron lines poll and walk it next, after `after`. */
export type RunsAfter = (name: CollectionName, after: Date) => NextRuns;

/** The cron lines of the configuration. Times are the database's. */
export type Schedule = ReturnType<typeof createSchedule>;

/** Accounts begin spread over a part of the line's interval after each run, but at most over `longestMs`. */
const SPREAD = {
  poll: { part: 0.75, longestMs: 45_000 },
  full: { part: 0.25, longestMs: 3_600_000 },
};

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
      // The account's place in the spread: always the same, at least 0 and below 1.
      const share = createHash('sha256').update(userId).digest().readUInt32BE(0) / 2 ** 32;
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

/** The account's first run after `now`: the line's own run may be past, and the account's place still to come. */
function nextSpread(line: CronLine | undefined, spread: typeof SPREAD.poll, share: number, now: Date): Date | null {
  if (line === undefined) return null;
  let run = line.next(new Date(now.getTime() - spread.longestMs));
  while (run !== null) {
    const at = run.getTime() + Math.floor(widthAt(line, spread, run) * share);
    if (at > now.getTime()) return new Date(at);
    run = line.next(run);
  }
  return null;
}

function latestRun(line: CronLine | undefined, spread: typeof SPREAD.poll, now: Date): Date | null {
  const run = line?.next(now) ?? null;
  return line === undefined || run === null ? null : new Date(run.getTime() + widthAt(line, spread, run));
}

/** Time over which the accounts of a run are spread, ms. */
function widthAt(line: CronLine, { part, longestMs }: typeof SPREAD.poll, run: Date): number {
  const following = line.next(run);
  return following === null ? 0 : Math.min(longestMs, (following.getTime() - run.getTime()) * part);
}

/**
 * Which stored next runs have to be changed. A run earlier than the cron line's next one stays, however long ago it
 * was: it is a misfire. A later one came from another cron line, or from before the database's clock went back: the
 * line's next run replaces it. If none is stored, the line's is, so that a restart in a first walk forgets no run.
 * @param stored `paused`: the collection was not to be mirrored
 * @param next the cron lines' next runs of the collection
 */
export function correctedRuns(
  names: readonly CollectionName[],
  stored: ReadonlyMap<string, NextRuns & { readonly paused: boolean }>,
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
