import { createTask, parse, type ScheduledTask } from 'node-cron';

const DAY_MS = 86_400_000;
/** 29 February falls on a given weekday once in 28 years, or in 40 where a century has no leap day. */
const FURTHEST_DAYS = 41 * 366;

/**
 * The runs of a cron line, computed from the line and a given moment: no process has to be awake. Lines are UTC,
 * since in local time node-cron skips the hour that daylight saving repeats.
 */
export class CronLine {
  readonly #task: ScheduledTask;
  readonly #hours: readonly number[];
  readonly #minutes: readonly number[];
  readonly #months: ReadonlySet<number>;
  readonly #days: (day: Date) => boolean;
  /** The day that was looked at last: node-cron takes a fifth of a millisecond for each. */
  #looked: { readonly day: number; readonly fires: boolean } | undefined;

  /** @param expression five fields in node-cron's dialect, or a name such as `@daily`; validated by config */
  constructor(expression: string) {
    this.#task = createTask(expression, () => {}, { timezone: 'UTC' });
    const { minute, hour, month, dayOfMonth, dayOfWeek } = parse(expression);
    this.#minutes = minute.toSorted((a, b) => a - b);
    this.#hours = hour.toSorted((a, b) => a - b);
    this.#months = new Set(month);
    // Words such as L (the last day) are left to node-cron.
    const may = (values: readonly (number | string)[], value: number): boolean =>
      values.includes(value) || values.some((each) => typeof each === 'string');
    this.#days = (day) => may(dayOfMonth, day.getUTCDate()) && may(dayOfWeek, day.getUTCDay());
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
    if (!this.#months.has(date.getUTCMonth() + 1) || !this.#days(date)) return false;
    const moment = day + (this.#hours[0] ?? 0) * 3_600_000 + (this.#minutes[0] ?? 0) * 60_000;
    const fires = this.#task.match(new Date(moment));
    this.#looked = { day, fires };
    return fires;
  }
}
