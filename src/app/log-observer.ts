import type { Logger } from '../runtime/logger.ts';
import type { SyncObserver } from '../sync/observer.ts';

/** What happens, as log lines: pages are for debugging, walks of single lists too. */
export function logObserver(log: Logger): SyncObserver {
  return {
    pageWritten: ({ scope, ...rest }) => log.debug({ ...scope, ...rest }, 'page written'),
    walkStarted: ({ scope, kind, resumed }) => log.debug({ ...scope, kind, resumed }, 'walk begun'),
    walkEnded: ({ scope, outcome, error, ...rest }) => {
      const level = outcome === 'failed' ? 'warn' : scope.parent === '' ? 'info' : 'debug';
      const text = error === undefined ? `${rest.kind} ${outcome}` : `${rest.kind} failed: ${error}`;
      log[level]({ ...scope, ...rest }, `${scope.collection}: ${text}`);
    },
  };
}
