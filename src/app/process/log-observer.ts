import { countOf, formatSpan } from '@research-mirror/runtime/figures';
import type { Logger } from '@research-mirror/runtime/logger';
import { SERVICE_DOWN } from '../../model/errors.ts';
import type { SyncObserver } from '../../sync/reader/observer.ts';

/** Logs what happens: pages, and walks of single lists, only at level debug. */
export function logObserver(log: Logger): SyncObserver {
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
      if (blocked > 0) {
        const remedy = `sync ${scope.collection} --full --accept-deletions`;
        log.warn(
          { ...scope, held: blocked },
          `${scope.collection}: the brake holds ${blocked} deletions back (${remedy})`,
        );
      }
    },
    walkEnded: ({ scope, outcome, error, ...rest }) => {
      // Of a service that is down it is said once, for all walks (process.ts).
      const isDown = error?.includes(SERVICE_DOWN) === true;
      const usual = scope.parent === '' && !isDown ? 'info' : 'debug';
      const level = outcome === 'failed' && !isDown ? 'warn' : usual;
      const text = error === undefined ? `${rest.kind} ${outcome}` : `${rest.kind} failed: ${error}`;
      log[level]({ ...scope, ...rest }, `${scope.collection}: ${text}`);
    },
  };
}
