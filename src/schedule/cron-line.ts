import { createTask, parse, type ScheduledTask } from 'node-cron';

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
