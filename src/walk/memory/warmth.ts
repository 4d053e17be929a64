import { FINISH_MS } from '../../model/row-state.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

/** When a scope's rows of the cooler classes were last read again: milliseconds since the epoch. */
export interface Refreshed {
  /** Rows that changed less long ago than such rows take, where that is longer than an hour. */
  readonly finishing: number;
  /** Rows that changed within a day. */
  readonly day: number;
  /** Rows that changed within a week. */
  readonly week: number;
}

/** The last one of a hundred may take twice as long. */
const MARGIN = 2;

/**
 * How long (ms) after its last change a row is likely to change soon.
 * @param finishMs within which nearly all rows of the scope have finished; undefined: not known yet
 */
function likelyMs(finishMs: number | undefined): number {
  const { unknown, least, most } = FINISH_MS;
  return MARGIN * Math.min(most, Math.max(least, finishMs ?? unknown));
}

/** How far back (ms) the refresh at `now` reaches: later changes are due. A clock that went back makes all due. */
export function refreshHorizon(refreshed: Refreshed, finishMs: number | undefined, now: number): number {
  const likely = likelyMs(finishMs);
  if (elapsed(refreshed.week, now) >= HOUR) return WEEK;
  if (elapsed(refreshed.day, now) >= 10 * MINUTE) return DAY;
  if (likely > HOUR && elapsed(refreshed.finishing, now) >= likely / 60) return likely;
  return Math.min(likely, HOUR);
}

/** What to remember after a refresh that began at `began`, reached back `horizon` and ended well. */
export function afterRefresh(refreshed: Refreshed, horizon: number, began: number): Refreshed {
  return {
    finishing: horizon > HOUR ? began : refreshed.finishing,
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

/** How long ago (ms) rows may have changed that are due in a refresh with this horizon. */
export function longestDue(horizon: number): number {
  return Math.max(horizon, HOUR);
}

function elapsed(since: number, now: number): number {
  return now < since ? Number.POSITIVE_INFINITY : now - since;
}
