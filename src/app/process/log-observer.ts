import { countOf, formatSpan } from '@research-mirror/runtime/figures';
import type { Logger } from '@research-mirror/runtime/logger';
import type { FailureLog } from '../failure-log.ts';
import type { SyncObserver } from '../../sync/reader/observer.ts';

/**
 * Logs what happens: pages, walks of single lists, and walks that found nothing, only at level debug; whoever reads many
 * lists sums up which failed. Blocked deletions are a problem, which problem-log.ts logs.
 */
export function logObserver(log: Logger, failures: FailureLog): SyncObserver {
  return {
    pageWritten: ({ scope, ...rest }) => log.debug({ ...scope, ...rest }, 'page written'),
    walkStarted: ({ scope, kind, resumed }) => log.debug({ ...scope, kind, resumed }, 'walk begun'),
    suspectsWait: ({ rows, milliseconds, ...rest }) =>
      log.info(
        { ...rest, rows },
        `${rest.collection}: ${countOf(rows, 'row')} in doubt, read again in ${formatSpan(milliseconds)}`,
      ),
    deletionsJudged: ({ scope, deleted }) => {
      if (deleted > 0)
        log.info({ ...scope, deleted }, `${scope.collection}: ${countOf(deleted, 'row')} deleted`);
    },
    walkEnded: ({ scope, outcome, error, ...rest }) => {
      const fields = { ...scope, ...rest };
      const what = `${scope.collection}: ${rest.kind}`;
      const place = `${scope.userId}/${what}`;
      if (scope.parent !== '') log.debug({ ...fields, ...(error && { err: error }) }, `${what} ${outcome}`);
      else if (error !== undefined) failures.failed(place, `${what} failed`, error, fields);
      else {
        if (outcome === 'complete') failures.worked(place);
        const found = rest.kind === 'full' || rest.inserted + rest.updated > 0;
        log[found && outcome === 'complete' ? 'info' : 'debug'](fields, `${what} ${outcome}`);
      }
    },
  };
}
