import type { Clock } from '@research-mirror/runtime/clock';
import { ClassifiedError } from '@research-mirror/runtime/errors';
import { countOf, formatSpan } from '@research-mirror/runtime/figures';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import { KeyRefused, LeaseLost, ServiceDown } from '../model/errors.ts';
import { failureMessage, isDatabaseDown } from '../postgres/sql-state.ts';
import type { SyncObserver } from '../sync/reading-context.ts';

/** Time for which the same failure of the same place is not logged again, ms. */
const AGAIN_MS = 3_600_000;

export type FailureLog = ReturnType<typeof failureLog>;

/**
 * Logs each failure once, even if several pass it on: a walk fails, then its loop. A lasting failure is logged when it
 * begins and once an hour. Others are logged at level debug.
 * @param who a daemon also logs stopped accounts and problems, so a failure that is part of one is no warning; a
 *   command has only this log
 * @param onFailure gets each failure, logged or not
 */
export function failureLog(
  log: Logger,
  clock: Pick<Clock, 'monotonic'>,
  who: 'daemon' | 'command',
  onFailure: (error: unknown) => void = () => {},
) {
  const logged = new WeakSet<Error>();
  const last = new Map<string, { readonly text: string; readonly at: number }>();

  const isNew = (place: string, text: string, error: Error): boolean => {
    const before = last.get(place);
    const now = clock.monotonic();
    const same = before?.text === text && now - before.at < AGAIN_MS;
    if (logged.has(error)) return false;
    logged.add(error);
    if (!same) last.set(place, { text, at: now });
    return !same;
  };

  return {
    /**
     * @param place where it failed: `42/lists`
     * @param text the line, without the error's message
     */
    failed(place: string, text: string, thrown: unknown, fields: Readonly<Record<string, unknown>> = {}): void {
      onFailure(thrown);
      const error = thrown instanceof Error ? thrown : new Error(messageOf(thrown));
      const line = `${text}: ${failureMessage(error)}`;
      const isDaemon = who === 'daemon';
      // The service's gate, the account that stops or the heartbeat logs it once for all that fail with it.
      const isLoggedElsewhere =
        error instanceof ServiceDown || (isDaemon && (error instanceof KeyRefused || isDatabaseDown(error)));
      // Numbers are of pages, rows and lists: with others it is the same failure.
      const isHidden = isLoggedElsewhere || !isNew(place, line.replaceAll(/\d+/g, ''), error);
      // The service or the database fails: while that lasts, the daemon logs a problem.
      const isProblem = isDaemon && error instanceof ClassifiedError && !(error instanceof LeaseLost);
      log[isHidden ? 'debug' : isProblem ? 'info' : 'warn']({ ...fields, err: error }, line);
    },
    /** Notes a failure that is logged elsewhere. */
    noted: onFailure,
    /** The place works again. */
    worked: (place: string) => void last.delete(place),
  };
}

/**
 * Logs events of readings. Pages, walks of single lists, and walks that found nothing are only logged at level debug:
 * the reader of many lists sums up which failed. Blocked deletions are logged as a problem.
 */
export function logObserver(log: Logger, failures: FailureLog): SyncObserver {
  return {
    pageWritten: ({ scope, ...rest }) => log.debug({ ...scope, ...rest }, 'page written'),
    walkStarted: ({ scope, kind, resumed }) => log.debug({ ...scope, kind, resumed }, 'walk started'),
    suspectsWait: ({ rows, milliseconds, ...rest }) =>
      log.info(
        { ...rest, rows },
        `${rest.collection}: ${countOf(rows, 'row')} in doubt, read again in ${formatSpan(milliseconds)}`,
      ),
    deletionsJudged: ({ scope, deleted }) => {
      if (deleted > 0) log.info({ ...scope, deleted }, `${scope.collection}: ${countOf(deleted, 'row')} deleted`);
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
