import type { Clock } from '@research-mirror/runtime/clock';
import { ClassifiedError } from '@research-mirror/runtime/errors';
import { countOf, formatSpan } from '@research-mirror/runtime/figures';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import { KeyRefused, LeaseLost, ServiceDown } from '../model/errors.ts';
import { failureMessage, isDatabaseDown } from '../postgres/sql-state.ts';
import type { SyncObserver } from '../sync/reading-context.ts';

/**
 * Logs failures, each once, however many hand it on: a walk fails, then the loop that began it, and each says so. One
 * that goes on is logged when it begins, and once an hour. What is not logged for that is there at level debug.
 */
export interface FailureLog {
  /**
   * @param place where it failed: `42/lists`
   * @param text the line, without the error's message
   */
  failed(place: string, text: string, error: unknown, fields?: Readonly<Record<string, unknown>>): void;
  /** Somebody else logs it. */
  noted(error: unknown): void;
  /** What had failed there has not failed this time. */
  worked(place: string): void;
}

/** How long (ms) the same failure of the same place is not logged again. */
const AGAIN_MS = 3_600_000;

/**
 * @param who a daemon logs accounts that stop, and problems, each by itself: a failure that is part of one is no
 *   warning besides. A command has but this log.
 * @param onFailure gets each failure, also those that are not logged
 */
export function failureLog(
  log: Logger,
  clock: Pick<Clock, 'monotonic'>,
  who: 'daemon' | 'command',
  onFailure: (error: unknown) => void = () => {},
): FailureLog {
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
    failed(place, text, thrown, fields = {}) {
      onFailure(thrown);
      const error = thrown instanceof Error ? thrown : new Error(messageOf(thrown));
      const line = `${text}: ${failureMessage(error)}`;
      // Numbers are of pages, rows and lists: with others it is the same failure.
      const level =
        isLoggedElsewhere(error, who) || !isNew(place, line.replaceAll(/\d+/g, ''), error)
          ? 'debug'
          : who === 'daemon' && isState(error)
            ? 'info'
            : 'warn';
      log[level]({ ...fields, err: error }, line);
    },
    noted: onFailure,
    worked: (place) => void last.delete(place),
  };
}

/** By the service's gate, the account that stops, the heartbeat: once for all that fail with it. */
function isLoggedElsewhere(error: Error, who: 'daemon' | 'command'): boolean {
  return (
    error instanceof ServiceDown ||
    (who === 'daemon' && (error instanceof KeyRefused || isDatabaseDown(error)))
  );
}

/** The service or the database fails. While it lasts it is a problem, which has a line of its own (notifier.ts). */
function isState(error: Error): boolean {
  return error instanceof ClassifiedError && !(error instanceof LeaseLost);
}

/**
 * Logs what happens: pages, walks of single lists, and walks that found nothing, only at level debug; whoever reads
 * many lists sums up which failed. Blocked deletions are a problem, which notifier.ts logs.
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
