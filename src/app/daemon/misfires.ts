import { misfires } from '../../db/accounts/due-collections.ts';
import { LeaseLost } from '../../model/errors.ts';
import type { AccountRunner } from '../accounts/account-runner.ts';
import { correctRuns } from '../accounts/scheduled-runs.ts';
import type { RunnerContext } from '../accounts/open-account.ts';

/**
 * What the schedules of the accounts that run here have promised: rings what is due, whenever its time has come. By the
 * clock by which readings are dated, which is never ahead of the database's: what begins now, began when it was due.
 */
export function misfireStarter({
  db,
  config,
  schedule,
  clock,
}: RunnerContext): (runners: readonly AccountRunner[]) => Promise<void> {
  return async (runners) => {
    const running = new Map(
      runners.flatMap((runner) => {
        const current = runner.current();
        return current === undefined ? [] : [[runner.userId, current] as const];
      }),
    );
    if (running.size === 0) return;
    const now = new Date(clock.now());
    const latest = config.collections.map((name) => ({ name, ...schedule.latest(name, now) }));
    const found = await misfires(db, [...running.keys()], latest, now);
    const toMend = new Set<string>();
    for (const { userId, collection, poll, full } of found) {
      const { service } = running.get(userId) ?? {};
      if (poll.state === 'due') service?.runDue(collection, 'poll', poll.at);
      if (full.state === 'due') service?.runDue(collection, 'full', full.at);
      if (poll.state === 'too-late' || full.state === 'too-late') toMend.add(userId);
    }
    for (const userId of toMend) {
      const store = running.get(userId)?.account.store;
      if (store === undefined) continue;
      await correctRuns(db, config.collections, schedule, store, userId).catch((error: unknown) => {
        // Its own loops find out.
        if (!(error instanceof LeaseLost)) throw error;
      });
    }
  };
}
