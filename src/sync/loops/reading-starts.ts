import type { Clock } from '@research-mirror/runtime/clock';
import { Places } from '@research-mirror/runtime/concurrency/places';

/** So many readings may be in their first seconds (ms) at a time. Two for each connection to Postgres keep it busy. */
const AT_ONCE = 16;
const FIRST_MS = 2_000;

/**
 * Lets the readings of many accounts begin a few at a time. Begun all at once, as at a start or after an outage, each
 * would wait for all others at each of its steps: a reservation is valid for seconds, a proof for a minute, and every
 * answer waits in memory. A reading that lasts gives its place up after its first seconds, so that readings which wait
 * for their rate limit keep nobody out.
 */
export function readingStarts(clock: Pick<Clock, 'sleep'>) {
  const places = new Places(AT_ONCE);
  return {
    /**
     * Waits for a place, and runs `task`.
     * @param signal ends the wait, not the task
     * @throws the signal's reason; errors of `task`
     */
    async begin<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
      const leave = await places.take(signal);
      const over = new AbortController();
      clock.sleep(FIRST_MS, over.signal).then(leave, leave);
      return task().finally(() => over.abort());
    },
  };
}
export type ReadingStarts = ReturnType<typeof readingStarts>;
