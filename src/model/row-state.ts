/**
 * Class of a state, which is open text: it decides how often the row is read again (docs/design/walks.md). `failed`
 * sounds final, but services retry.
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
  // As most services spell it.
  if (FINISHED.has(value)) return 'finished';
  const word = value
    .trim()
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1_$2')
    .replaceAll(/[\s-]+/g, '_')
    .toLowerCase();
  if (FINISHED.has(word)) return 'finished';
  return FAILED.has(word) ? 'failed' : 'open';
}

/** The class of an item's state. @param fields as JSON.parse sees them */
export function stateOf(fields: Readonly<Record<string, unknown>>): StateClass {
  return stateClass(fields['status'] ?? fields['state']);
}
