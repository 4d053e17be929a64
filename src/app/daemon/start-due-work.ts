import { dueWork, type WaitingWork, waitingWork } from '../../db/due-work.ts';
import { LeaseLost } from '../../model/errors.ts';
import type { AccountRunner, RunningAccount } from '../accounts/account-runner.ts';
import { correctRuns } from '../accounts/scheduled-runs.ts';
import type { RunnerContext } from '../accounts/open-account.ts';

type DueContext = Pick<RunnerContext, 'db' | 'config' | 'schedule' | 'clock'>;

/**
 * Looks for what the accounts that run here have to do, and starts it: due runs and misfires, due hints, submissions,
 * columns to be filled.
 * Stored runs that are later than the cron lines say are corrected. The clock is the one by which readings are dated,
 * never ahead of the database's: a reading that starts now is not dated before its run was due.
 * @returns milliseconds until the next run is due, as far as known; 0: one is due, and this may have to begin it again
 */
export async function startDueWork(
  { db, config, schedule, clock }: DueContext,
  runners: readonly AccountRunner[],
): Promise<number> {
  const running = runningAmong(runners);
  if (running.size === 0) return Number.POSITIVE_INFINITY;
  const now = new Date(clock.now());
  const latest = config.collections.map((name) => ({ name, ...schedule.latest(name, now) }));
  const work = await dueWork(db, [...running.keys()], latest, now);
  ringFor(running, work);
  for (const userId of work.filling) running.get(userId)?.bells.filling.ring();
  const toCorrect = new Set<string>();
  let isDue = false;
  for (const { userId, collection, pollAt, fullAt, isTooLate } of work.runs) {
    const { service } = running.get(userId) ?? {};
    if (pollAt !== null) service?.runDue(collection, 'poll', pollAt);
    if (fullAt !== null) service?.runDue(collection, 'full', fullAt);
    isDue ||= pollAt !== null || fullAt !== null;
    if (isTooLate) toCorrect.add(userId);
  }
  for (const userId of toCorrect) {
    const store = running.get(userId)?.account.store;
    if (store === undefined) continue;
    await correctRuns(db, config.collections, schedule, store, userId).catch((error: unknown) => {
      // The account's own loops notice it, too.
      if (!(error instanceof LeaseLost)) throw error;
    });
  }
  if (isDue || toCorrect.size > 0) return 0;
  return (work.nextRunAt?.getTime() ?? Number.POSITIVE_INFINITY) - now.getTime();
}

/** Looks only for what others left: hints and submissions. */
export async function startWaitingWork(
  { db }: Pick<DueContext, 'db'>,
  runners: readonly AccountRunner[],
): Promise<void> {
  const running = runningAmong(runners);
  if (running.size > 0) ringFor(running, await waitingWork(db));
}

function runningAmong(runners: readonly AccountRunner[]): ReadonlyMap<string, RunningAccount> {
  return new Map(
    runners.flatMap((runner) => {
      const current = runner.current();
      return current === undefined ? [] : [[runner.userId, current] as const];
    }),
  );
}

function ringFor(running: ReadonlyMap<string, RunningAccount>, { hinted, submitting }: WaitingWork): void {
  for (const userId of hinted) running.get(userId)?.bells.hints.ring();
  for (const userId of submitting) running.get(userId)?.bells.submissions.ring();
}
