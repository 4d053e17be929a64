import { dueWork } from '../../db/due-work.ts';
import { LeaseLost } from '../../model/errors.ts';
import type { AccountRunner } from '../accounts/account-runner.ts';
import { correctRuns } from '../accounts/scheduled-runs.ts';
import type { RunnerContext } from '../accounts/open-account.ts';

/**
 * Looks for what the accounts that run here have to do, and starts it: due runs and misfires, due hints, submissions,
 * columns to be filled.
 * Stored runs that are later than the cron lines say are corrected. The clock is the one by which readings are dated,
 * never ahead of the database's: a reading that starts now is not dated before its run was due.
 */
export async function startDueWork(
  { db, config, schedule, clock }: Pick<RunnerContext, 'db' | 'config' | 'schedule' | 'clock'>,
  runners: readonly AccountRunner[],
): Promise<void> {
  const running = new Map(
    runners.flatMap((runner) => {
      const current = runner.current();
      return current === undefined ? [] : [[runner.userId, current] as const];
    }),
  );
  if (running.size === 0) return;
  const now = new Date(clock.now());
  const latest = config.collections.map((name) => ({ name, ...schedule.latest(name, now) }));
  const { runs, hinted, submitting, filling } = await dueWork(db, [...running.keys()], latest, now);
  for (const [userId, { bells }] of running) {
    if (hinted.has(userId)) bells.hints.ring();
    if (submitting.has(userId)) bells.submissions.ring();
    if (filling.has(userId)) bells.filling.ring();
  }
  const toCorrect = new Set<string>();
  for (const { userId, collection, poll, full } of runs) {
    const { service } = running.get(userId) ?? {};
    if (poll.state === 'due') service?.runDue(collection, 'poll', poll.at);
    if (full.state === 'due') service?.runDue(collection, 'full', full.at);
    if (poll.state === 'too-late' || full.state === 'too-late') toCorrect.add(userId);
  }
  for (const userId of toCorrect) {
    const store = running.get(userId)?.account.store;
    if (store === undefined) continue;
    await correctRuns(db, config.collections, schedule, store, userId).catch((error: unknown) => {
      // The account's own loops notice it, too.
      if (!(error instanceof LeaseLost)) throw error;
    });
  }
}
