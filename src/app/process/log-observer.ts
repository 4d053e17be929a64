import type { Clock } from '@research-mirror/runtime/clock';
import { countOf, formatCount, formatSpan } from '@research-mirror/runtime/figures';
import type { Logger } from '@research-mirror/runtime/logger';
import type { FailureLog } from '../failure-log.ts';
import type { SyncObserver } from '../../sync/reader/observer.ts';

/** How often (ms) a collection that is read has a line, whatever its readings find. */
const SUMMED_UP_MS = 3_600_000;

/**
 * Logs what happens: pages, walks of single lists, and walks that found nothing, only at level debug; whoever reads many
 * lists sums up which failed, and a line an hour what a collection's readings found. Blocked deletions are a problem, which
 * problem-log.ts logs.
 */
export function logObserver(
  log: Logger,
  failures: FailureLog,
  clock: Pick<Clock, 'monotonic'>,
): SyncObserver {
  const sums = new Map<string, { since: number; readings: number; inserted: number; updated: number }>();
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
      const { userId, collection } = scope;
      const name = `${userId}/${collection}`;
      const sum = sums.get(name) ?? { since: clock.monotonic(), readings: 0, inserted: 0, updated: 0 };
      sums.set(name, sum);
      sum.readings += 1;
      sum.inserted += rest.inserted;
      sum.updated += rest.updated;
      const { since, ...found } = sum;
      const ms = clock.monotonic() - since;
      if (ms < SUMMED_UP_MS) return;
      sums.delete(name);
      log.info(
        { userId, collection, ...found },
        `${collection}: in ${formatSpan(ms)} ${countOf(found.readings, 'reading')} found ${formatCount(found.inserted)} new rows and ${formatCount(found.updated)} changed ones`,
      );
    },
  };
}
