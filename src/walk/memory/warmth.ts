/**
 * Unsettled rows (docs/design/walks.md, "Unsettled rows"): states are open text. Words known as final cool a row at once, any other keeps it warm,
 * cooling with the time since its last change, so that a job stuck for ever does not cost for ever:
 *
 * | last change     | read again                                |
 * |-----------------|-------------------------------------------|
 * | within an hour  | with every poll (`failed` and the like, which services retry, only this long) |
 * | within a day    | every 10 minutes                          |
 * | within a week   | every hour                                |
 * | longer ago      | by full walks only                        |
 */

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
 * How far back, in milliseconds, the refresh that is due at `now` reaches: rows that changed longer ago are not due.
 * A clock that went back makes everything due.
 */
export function refreshHorizon(refreshed: Refreshed, now: number): number {
  if (elapsed(refreshed.week, now) >= HOUR) return WEEK;
  return elapsed(refreshed.day, now) >= 10 * MINUTE ? DAY : HOUR;
}

/** What to remember once a refresh that reached back `horizon` and was begun at `began` has ended well. */
export function afterRefresh(refreshed: Refreshed, horizon: number, began: number): Refreshed {
  return {
    day: horizon >= DAY ? began : refreshed.day,
    week: horizon >= WEEK ? began : refreshed.week,
  };
}

/**
 * Whether an unsettled row is due in a refresh with this horizon.
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
