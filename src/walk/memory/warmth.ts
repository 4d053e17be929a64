/**
 * Class of a state, which is open text: it decides how often polls read the row again (docs/design/walks.md,
 * "Unsettled rows"). `failed` sounds final, but services retry.
 */
export type StateClass = 'finished' | 'failed' | 'open';

const FINISHED = new Set([
  'analysed',
  'analyzed',
  'archived',
  'canceled',
  'cancelled',
  'closed',
  'complete',
  'completed',
  'completed_with_errors',
  'deleted',
  'done',
  'expired',
  'finished',
  'ok',
  'partial_failure',
  'partial_success',
  'partially_completed',
  'ready',
  'skipped',
  'succeeded',
  'success',
  'successful',
]);
const FAILED = new Set([
  'aborted',
  'error',
  'errored',
  'fail',
  'failed',
  'failure',
  'rejected',
  'timed_out',
  'timeout',
]);

/**
 * Class of a state as the service sent it: any letter case, words joined by space, hyphen, underscore or camelCase.
 * @param value the item's state; undefined: items have no state, and are taken as finished
 */
export function stateClass(value: unknown): StateClass {
  if (value === undefined) return 'finished';
  if (typeof value !== 'string') return 'open';
  const word = value
    .trim()
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1_$2')
    .replaceAll(/[\s-]+/g, '_')
    .toLowerCase();
  if (FINISHED.has(word)) return 'finished';
  return FAILED.has(word) ? 'failed' : 'open';
}

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

/** How far back (ms) the refresh at `now` reaches: later changes are due. A clock that went back makes all due. */
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
