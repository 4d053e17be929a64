import type { Db } from '../../db/connection/db.ts';
import { accountsWithDueHints } from '../../db/events/hint-store.ts';
import { accountsWithSubmissions } from '../../db/submissions/stored-submissions.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import { type Service, service } from '@research-mirror/runtime/service';
import type { AccountRunner } from '../accounts/account-runner.ts';

export interface WorkFinderOptions {
  readonly db: Db;
  readonly runners: () => readonly AccountRunner[];
  /** Starts their due runs and misfires. */
  readonly startMisfires: (runners: readonly AccountRunner[]) => Promise<void>;
  /** Rung when another process may have left something. */
  readonly bell: Doorbell;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
}

/** How often (ms) it looks: `submit()` sends no NOTIFY, since NOTIFY locks the commits of the whole cluster. */
const LOOK_MS = 1_000;

/**
 * Rings the accounts of this process that have something to read or to send: three statements each second, however
 * many accounts there are. Due work is found by stored moments that have passed: a process that was not running at
 * the moment finds it later.
 */
export function workFinder({
  db,
  runners,
  startMisfires,
  bell,
  clock,
  onFailure,
}: WorkFinderOptions): Service {
  return service('work finder', async ({ signal, ready }) => {
    ready();
    let failing = false;
    for (;;) {
      try {
        await startMisfires(runners());
        const hinted = new Set(await accountsWithDueHints(db));
        const queued = new Set(await accountsWithSubmissions(db));
        for (const runner of runners()) {
          if (hinted.has(runner.userId)) runner.current()?.bells.hints.ring();
          if (queued.has(runner.userId)) runner.current()?.bells.submissions.ring();
        }
        failing = false;
      } catch (error) {
        if (!failing) onFailure(error);
        failing = true;
      }
      const over = new AbortController();
      const either = AbortSignal.any([signal, over.signal]);
      await Promise.race([bell.heard(either), clock.sleep(LOOK_MS, either)]).finally(() => over.abort());
    }
  });
}
