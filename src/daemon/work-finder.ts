import type { Clock } from '@research-mirror/runtime/clock';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import { type Service, service } from '@research-mirror/runtime/service';
import { type RawBuilder, sql } from 'kysely';
import type { AccountRunner } from '../account/accounts-service.ts';
import type { Account } from '../account/account.ts';
import type { ProcessContext } from '../account/process.ts';
import type { CollectionName } from '../model/collections.ts';
import { LeaseLost } from '../model/errors.ts';
import { AHEAD_MS, hasCome } from '../postgres/clock-step.ts';
import type { Db } from '../postgres/db.ts';

/** Time between two looks, ms. `submit()` sends no NOTIFY, which would lock the commits of the whole cluster. */
const LOOK_MS = 1_000;
/** Longest time between two looks for runs, ms: their stored times may be changed. */
const ALL_MS = 10_000;
/** Least time between two looks, ms: a thousand starting accounts ring once each. */
const REST_MS = 200;

/**
 * Rings the accounts of this process that have something to read or to send: one statement a second for all. It looks
 * for runs only if one is due, the bell rang, or some time has passed.
 * @param startDue starts everything that is due; gives the milliseconds until a run is due; 0: look again soon
 * @param startWaiting starts only work that others may have left: cheaper
 * @param bell rung when another process may have left work, or an account starts here
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

/**
 * Starts the work of the accounts that run here: due runs and misfires, due hints, submissions, columns to fill.
 * Corrects stored runs that are later than their cron line. The clock is never ahead of the database's: a reading that
 * starts now is not dated before its run was due.
 * @returns milliseconds until the next run is due, as far as known; 0: one may have to be started again
 */
export async function startDueWork(
  { db, config, schedule, clock }: Pick<ProcessContext, 'db' | 'config' | 'schedule' | 'clock'>,
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
      // The account's own loops notice it.
      if (!(error instanceof LeaseLost)) throw error;
    }
  }
  if (isDue || toCorrect.size > 0) return 0;
  return (work.nextRunAt?.getTime() ?? Number.POSITIVE_INFINITY) - now.getTime();
}

/** Starts only hints and submissions that others left. */
export async function startWaitingWork(
  { db }: Pick<ProcessContext, 'db'>,
  runners: readonly AccountRunner[],
): Promise<void> {
  const running = runningAmong(runners);
  if (running.size === 0) return;
  const { rows } = await db.sql<Pick<DueRow, 'what' | 'userId'>>`
    select h.* from (${withDueHints(db)}) as h union all select s.* from (${withSubmissions(db)}) as s`;
  ringFor(running, waitingIn(rows));
}

function runningAmong(runners: readonly AccountRunner[]): ReadonlyMap<string, Account> {
  return new Map(
    runners.flatMap((runner) => {
      const current = runner.current();
      return current === undefined ? [] : [[runner.userId, current] as const];
    }),
  );
}

function ringFor(running: ReadonlyMap<string, Account>, due: ReturnType<typeof waitingIn>): void {
  for (const userId of due.hinted) running.get(userId)?.bells.hints.ring();
  for (const userId of due.submitting) running.get(userId)?.bells.submissions.ring();
}

/** `pollAt`, `fullAt`: null: not due. */
interface DueRow extends Readonly<Record<'pollAt' | 'fullAt', Date | null>> {
  readonly what: 'run' | 'next' | 'hint' | 'submission' | 'column';
  readonly userId: string;
  readonly collection: CollectionName;
  /** A stored run is later than the next time of its cron line. */
  readonly isTooLate: boolean;
}

/** One statement for all work. @param latest the next times of each collection's cron lines; null without a line */
export async function dueWork(
  db: Db,
  userIds: readonly string[],
  latest: readonly (Readonly<Record<'nextPollAt' | 'nextFullAt', Date | null>> & {
    readonly name: CollectionName;
  })[],
  now: Date,
) {
  const collections = db.table('_collections');
  const theirs = sql`c._user_id = any(${[...userIds]}::bigint[])`;
  const latestOf = (which: 'nextPollAt' | 'nextFullAt') => latest.map((each) => each[which]);
  const { rows } = await db.sql<DueRow>`
    select 'run' as what, c._user_id as "userId", c.collection,
      case when c.next_poll_at <= ${now} then c.next_poll_at end as "pollAt",
      case when c.next_full_at <= ${now} then c.next_full_at end as "fullAt",
      c.next_poll_at > ${now} and c.next_poll_at > b.poll_by
        or c.next_full_at > ${now} and c.next_full_at > b.full_by as "isTooLate"
    from ${collections} as c
    -- Not as one unnest() in FROM: with many accounts, Citus 13.2 mixes up the types of its columns.
    join (
      select unnest(${latest.map(({ name }) => name)}::text[]) as collection,
        unnest(${latestOf('nextPollAt')}::timestamptz[]) as poll_by,
        unnest(${latestOf('nextFullAt')}::timestamptz[]) as full_by) as b on b.collection = c.collection
    where ${theirs} and (c.next_poll_at <= ${now} or c.next_full_at <= ${now} or c.next_poll_at > b.poll_by
      or c.next_full_at > b.full_by)
    union all
    select 'next', null, null, least(min(c.next_poll_at) filter (where c.next_poll_at > ${now}),
      min(c.next_full_at) filter (where c.next_full_at > ${now})), null, null
    from ${collections} as c where ${theirs}
    union all select h.*, null, null, null, null from (${withDueHints(db)}) as h
    union all select s.*, null, null, null, null from (${withSubmissions(db)}) as s
    union all
    select distinct 'column', b._user_id, null, null::timestamptz, null::timestamptz, null::boolean
    from ${db.stateTable('backfill')} as b`;
  return {
    runs: rows.filter(({ what }) => what === 'run'),
    /** Time of the next run that is not due yet; null if none is known. */
    nextRunAt: rows.find(({ what }) => what === 'next')?.pollAt ?? null,
    ...waitingIn(rows),
    filling: accountsIn(rows, 'column'),
  };
}

/** Accounts with due hints, and with submissions to send. */
function waitingIn(rows: readonly Pick<DueRow, 'what' | 'userId'>[]) {
  return { hinted: accountsIn(rows, 'hint'), submitting: accountsIn(rows, 'submission') };
}

function accountsIn(rows: readonly Pick<DueRow, 'what' | 'userId'>[], what: DueRow['what']) {
  return new Set(rows.filter((row) => row.what === what).map(({ userId }) => userId));
}

function withDueHints(db: Db): RawBuilder<unknown> {
  // statement_timestamp() is stable, so the index serves it; clock_timestamp() is not.
  return sql`
    select distinct 'hint' as what, h._user_id as "userId" from ${db.stateTable('hint')} as h
    where ${hasCome(sql`h.due_at`, AHEAD_MS.hint, sql`statement_timestamp()`)}`;
}

/** Accounts with a queued submission that may be tried now. Costs one look into the index of open submissions each. */
function withSubmissions(db: Db): RawBuilder<unknown> {
  return sql`
    select 'submission' as what, a._user_id as "userId" from ${db.stateTable('account')} as a
    where exists (
      select from ${db.table('submissions')} as s
      where s._user_id = a._user_id and s.state = 'queued'
        and (s._not_before is null or ${hasCome(sql`s._not_before`, AHEAD_MS.submission)}))`;
}
