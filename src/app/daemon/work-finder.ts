import type { Clock } from '@research-mirror/runtime/clock';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import { type Service, service } from '@research-mirror/runtime/service';
import { dueWork, type WaitingWork, waitingWork } from '../../db/due-work.ts';
import { LeaseLost } from '../../model/errors.ts';
import type { AccountRunner } from '../accounts/account-runner.ts';
import type { Account, ProcessContext } from '../accounts/account.ts';

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
 * @param startDue starts all that is due, and says in how many milliseconds a run is, as far as known; 0: look again soon
 * @param startWaiting starts only what others may have left: cheaper
 * @param bell rung when another process may have left something, or an account begins to be read here
 */
export function workFinder(
  startDue: () => Promise<number>,
  startWaiting: () => Promise<void>,
  bell: Doorbell,
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  onFailure: (error: unknown) => void,
): Service {
  return service('work finder', async ({ signal, ready }) => {
    ready();
    /** When to look for all, on `clock.monotonic()`. */
    let allAt = Number.NEGATIVE_INFINITY;
    for (;;) {
      const now = clock.monotonic();
      try {
        if (now >= allAt) allAt = now + Math.max(LOOK_MS, Math.min(ALL_MS, await startDue()));
        else await startWaiting();
      } catch (error) {
        onFailure(error);
        allAt = Number.NEGATIVE_INFINITY;
      }
      await clock.sleep(REST_MS, signal);
      if (await bell.heardWithin(LOOK_MS - REST_MS, clock, signal)) allAt = Number.NEGATIVE_INFINITY;
    }
  });
}

type DueContext = Pick<ProcessContext, 'db' | 'config' | 'schedule' | 'clock'>;

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
    const store = running.get(userId)?.store;
    try {
      await store?.correctRuns(config.collections, schedule.of(userId));
    } catch (error) {
      // The account's own loops notice it, too.
      if (!(error instanceof LeaseLost)) throw error;
    }
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

function runningAmong(runners: readonly AccountRunner[]): ReadonlyMap<string, Account> {
  return new Map(
    runners.flatMap((runner) => {
      const current = runner.current();
      return current === undefined ? [] : [[runner.userId, current] as const];
    }),
  );
}

function ringFor(running: ReadonlyMap<string, Account>, { hinted, submitting }: WaitingWork): void {
  for (const userId of hinted) running.get(userId)?.bells.hints.ring();
  for (const userId of submitting) running.get(userId)?.bells.submissions.ring();
}
