import type { AccountWork } from '../../db/status/stored-activity.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { type Service, service } from '@research-mirror/runtime/service';
import type { AccountRunner } from '../accounts/account-runner.ts';
import type { ActivityCount } from './activity-count.ts';

export interface ActivityKeeperOptions {
  readonly count: ActivityCount;
  readonly runners: () => readonly Pick<AccountRunner, 'userId' | 'current'>[];
  /** @param at milliseconds since the epoch */
  readonly store: (at: number, work: readonly AccountWork[]) => Promise<void>;
  /** `now` is the database's time. */
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
}

const MINUTE_MS = 60_000;
/**
 * Within the minute (ms). Polls of a line that fires each minute begin in its first 45 s (next-runs.ts): what they did
 * is counted behind them, and a bucket of five minutes has that of five polls, neither four nor six.
 */
const OFFSET_MS = 57_000;

/**
 * Stores once a minute, and at a stop, what this process did for its accounts. While the database is away it is kept and
 * stored later, in the bucket of that time; a commit whose answer is lost counts twice. A process that is killed loses
 * what it did since the last minute.
 */
export function activityKeeper({ count, runners, store, clock, onFailure }: ActivityKeeperOptions): Service {
  let failing = false;
  const look = async (): Promise<void> => {
    const owned = runners().filter((runner) => runner.current() !== undefined);
    const taken = count.take(owned.map(({ userId }) => userId));
    if (taken.length === 0) return;
    try {
      await store(clock.now(), taken);
      failing = false;
    } catch (error) {
      count.putBack(taken);
      if (!failing) onFailure(error);
      failing = true;
    }
  };
  return service('activity', async ({ signal, ready }) => {
    ready();
    try {
      for (;;) {
        await clock.sleep(untilNext(clock.now()), signal);
        await look();
      }
    } finally {
      // A database that is away would only delay the stop.
      if (!failing) await look();
    }
  });
}

function untilNext(now: number): number {
  const past = (now - OFFSET_MS) % MINUTE_MS;
  return MINUTE_MS - past;
}
