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

/** `failed`: final by its word, but services retry. */
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
 * @param value the item's state; `undefined` where items have no state at all: nothing says that they will change
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
