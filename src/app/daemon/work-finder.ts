import type { Clock } from '@research-mirror/runtime/clock';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import { type Service, service } from '@research-mirror/runtime/service';
import type { AccountRunner } from '../accounts/account-runner.ts';
import type { RunnerContext } from '../accounts/open-account.ts';
import { startDueWork } from './start-due-work.ts';

export interface WorkFinderOptions {
  readonly context: Pick<RunnerContext, 'db' | 'config' | 'schedule' | 'clock'>;
  readonly runners: () => readonly AccountRunner[];
  /** Rung when another process may have left something. */
  readonly bell: Doorbell;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
}

/** How often (ms) it looks: `submit()` sends no NOTIFY, since NOTIFY locks the commits of the whole cluster. */
const LOOK_MS = 1_000;

/**
 * Rings the accounts of this process that have something to read or to send: one statement each second, however
 * many accounts there are. Due work is found by stored moments that have passed: a process that was not running at
 * the moment finds it later.
 */
export function workFinder({ context, runners, bell, clock, onFailure }: WorkFinderOptions): Service {
  return service('work finder', async ({ signal, ready }) => {
    ready();
    let failing = false;
    for (;;) {
      try {
        await startDueWork(context, runners());
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
