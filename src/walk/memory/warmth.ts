const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

/** When a scope's rows of the cooler classes were last read again: milliseconds since the epoch. */
export interface Refreshed {
  /** Rows that changed within a day. */
  readonly day: number;
  /** Rows that changed within a week. */
  readonly week: number;
}

/**
 * How far back (ms) the refresh at `now` reaches: rows that changed later are due, an hour's with each poll
 * (docs/design/walks.md, "Unfinished rows"). A clock that went back makes all due.
 */
export function refreshHorizon(refreshed: Refreshed, now: number): number {
  if (elapsed(refreshed.week, now) >= HOUR) return WEEK;
  return elapsed(refreshed.day, now) >= 10 * MINUTE ? DAY : HOUR;
}

/** What to remember after a refresh that began at `began`, reached back `horizon` and ended well. */
export function afterRefresh(refreshed: Refreshed, horizon: number, began: number): Refreshed {
  return {
    day: horizon >= DAY ? began : refreshed.day,
    week: horizon >= WEEK ? began : refreshed.week,
  };
}

/**
 * Whether an unfinished row is due in a refresh with this horizon.
 * @param row `since`: when it last changed, milliseconds since the epoch; `failed`: by `stateClass`
 */
export function dueForRefresh(
  row: { since: number; failed: boolean },
  horizon: number,
  now: number,
): boolean {
  return now - row.since < (row.failed ? HOUR : horizon);
}

function elapsed(since: number, now: number): number {
  return now < since ? Number.POSITIVE_INFINITY : now - since;
}
