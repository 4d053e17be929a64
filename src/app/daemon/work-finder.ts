import type { Clock } from '@research-mirror/runtime/clock';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import { type Service, service } from '@research-mirror/runtime/service';

export interface WorkFinderOptions {
  /** Starts all that is due. @returns milliseconds until a run is due, as far as known; 0: look again soon */
  readonly startDue: () => Promise<number>;
  /** Starts only what others may have left: cheaper. */
  readonly startWaiting: () => Promise<void>;
  /** Rung when another process may have left something, or an account begins to be read here. */
  readonly bell: Doorbell;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly onFailure: (error: unknown) => void;
}

/** How often (ms) it looks: `submit()` sends no NOTIFY, since NOTIFY locks the commits of the whole cluster. */
const LOOK_MS = 1_000;
/** How often (ms) it looks for runs though none is known to be due: their stored moments may be moved. */
const ALL_MS = 10_000;
/** Between two looks (ms) at least: a thousand accounts that begin ring once each. */
const REST_MS = 200;

/**
 * Rings the accounts of this process that have something to read or to send: one statement each second, however
 * many accounts there are. Due work is found by stored moments that have passed: a process that was not running at
 * the moment finds it later. The statement asks for runs only where one is due, somebody rang, or some time has passed.
 */
export function workFinder({ startDue, startWaiting, bell, clock, onFailure }: WorkFinderOptions): Service {
  return service('work finder', async ({ signal, ready }) => {
    ready();
    let failing = false;
    /** When to look for all, on `clock.monotonic()`. */
    let allAt = Number.NEGATIVE_INFINITY;
    for (;;) {
      const now = clock.monotonic();
      try {
        if (now >= allAt) allAt = now + Math.max(LOOK_MS, Math.min(ALL_MS, await startDue()));
        else await startWaiting();
        failing = false;
      } catch (error) {
        if (!failing) onFailure(error);
        failing = true;
        allAt = Number.NEGATIVE_INFINITY;
      }
      await clock.sleep(REST_MS, signal);
      const over = new AbortController();
      const either = AbortSignal.any([signal, over.signal]);
      const rung = bell.heard(either).then(() => true);
      const slept = clock.sleep(LOOK_MS - REST_MS, either).then(() => false);
      if (await Promise.race([rung, slept]).finally(() => over.abort())) allAt = Number.NEGATIVE_INFINITY;
    }
  });
}
