import { countOf, formatSpan } from '@research-mirror/runtime/figures';
import type { Logger } from '@research-mirror/runtime/logger';
import { scopeName } from '../../model/collections.ts';
import type { FailureLog } from '../failure-log.ts';
import type { SyncObserver } from '../../sync/reader/observer.ts';

/**
 * Logs what happens: pages, and walks of single lists, only at level debug; whoever reads many lists sums up which
 * failed. Blocked deletions are a problem, which is logged as such (problem-log.ts).
 */
export function logObserver(log: Logger, failures: FailureLog): SyncObserver {
  /** By scope: so many deletions were blocked last. */
  const blockedLast = new Map<string, number>();
  return {
    pageWritten: ({ scope, ...rest }) => log.debug({ ...scope, ...rest }, 'page written'),
    walkStarted: ({ scope, kind, resumed }) => log.debug({ ...scope, kind, resumed }, 'walk begun'),
    suspectsWait: ({ rows, milliseconds, ...rest }) =>
      log.info(
        { ...rest, rows },
        `${rest.collection}: ${countOf(rows, 'row')} in doubt, read again in ${formatSpan(milliseconds)}`,
      ),
    deletionsJudged: ({ scope, deleted, blocked }) => {
      if (deleted > 0)
        log.info({ ...scope, deleted }, `${scope.collection}: ${countOf(deleted, 'row')} deleted`);
      const name = scopeName(scope);
      if (blocked > 0 && blocked !== blockedLast.get(name)) {
        const remedy = `sync ${scope.collection} --full --accept-deletions`;
        log.info(
          { ...scope, held: blocked },
          `${scope.collection}: the brake blocks ${blocked} deletions (${remedy})`,
        );
      }
      if (blocked > 0) blockedLast.set(name, blocked);
      else blockedLast.delete(name);
    },
    walkEnded: ({ scope, outcome, error, ...rest }) => {
      const fields = { ...scope, ...rest };
      const what = `${scope.collection}: ${rest.kind}`;
      const place = `${scope.userId}/${what}`;
      if (scope.parent !== '') log.debug({ ...fields, ...(error && { err: error }) }, `${what} ${outcome}`);
      else if (error !== undefined) failures.failed(place, `${what} failed`, error, fields);
      else {
        if (outcome === 'complete') failures.worked(place);
        log.info(fields, `${what} ${outcome}`);
      }
    },
  };
}
