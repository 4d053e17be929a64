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

/** The next times of a collection's cron lines; null: it has no such line. */
interface LatestRuns {
  readonly name: CollectionName;
  readonly nextPollAt: Date | null;
  readonly nextFullAt: Date | null;
}

/** What others left for accounts. */
interface WaitingWork {
  /** Accounts that have due hints. */
  readonly hinted: ReadonlySet<string>;
  /** Accounts that have submissions to be sent. */
  readonly submitting: ReadonlySet<string>;
}

/** Runs of a collection that are due, or stored for too late a moment. */
interface DueRuns {
  readonly userId: string;
  readonly collection: CollectionName;
  /** Null: it is not due. */
  readonly pollAt: Date | null;
  readonly fullAt: Date | null;
  /** One is later than its cron line's next time. */
  readonly isTooLate: boolean;
}

/** What a process's accounts have to do. */
interface DueWork extends WaitingWork {
  readonly runs: readonly DueRuns[];
  /** When the next run is due that is not due yet; null: none is known. */
  readonly nextRunAt: Date | null;
  /** Accounts whose rows lack values of a new column. */
  readonly filling: ReadonlySet<string>;
}

interface Row extends DueRuns {
  readonly what: 'run' | 'next' | 'hint' | 'submission' | 'column';
}

/**
 * Looks for it in one statement.
 * @param userIds whose runs are looked for
 */
export async function dueWork(
  db: Db,
  userIds: readonly string[],
  latest: readonly LatestRuns[],
  now: Date,
): Promise<DueWork> {
  const collections = db.table('_collections');
  const theirs = sql`c._user_id = any(${[...userIds]}::bigint[])`;
  const latestOf = (which: 'nextPollAt' | 'nextFullAt') => latest.map((each) => each[which]);
  const { rows } = await db.sql<Row>`
    select 'run' as what, c._user_id as "userId", c.collection,
      case when c.next_poll_at <= ${now} then c.next_poll_at end as "pollAt",
      case when c.next_full_at <= ${now} then c.next_full_at end as "fullAt",
      c.next_poll_at > ${now} and c.next_poll_at > b.poll_by
        or c.next_full_at > ${now} and c.next_full_at > b.full_by as "isTooLate"
    from ${collections} as c
    -- Not as one unnest() in FROM: where many accounts are asked for, Citus 13.2 gives its columns each other's types.
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
    nextRunAt: rows.find(({ what }) => what === 'next')?.pollAt ?? null,
    hinted: accountsIn(rows, 'hint'),
    submitting: accountsIn(rows, 'submission'),
    filling: accountsIn(rows, 'column'),
  };
}

/** Looks only for what has no stored moment that is known before: it is asked each second. */
async function waitingWork(db: Db): Promise<WaitingWork> {
  const { rows } = await db.sql<Pick<Row, 'what' | 'userId'>>`
    select h.* from (${withDueHints(db)}) as h union all select s.* from (${withSubmissions(db)}) as s`;
  return { hinted: accountsIn(rows, 'hint'), submitting: accountsIn(rows, 'submission') };
}

function accountsIn(rows: readonly Pick<Row, 'what' | 'userId'>[], what: Row['what']): ReadonlySet<string> {
  return new Set(rows.filter((row) => row.what === what).map(({ userId }) => userId));
}

function withDueHints(db: Db): RawBuilder<unknown> {
  // Stable, so that the index serves it; clock_timestamp() is not.
  return sql`
    select distinct 'hint' as what, h._user_id as "userId" from ${db.stateTable('hint')} as h
    where ${hasCome(sql`h.due_at`, AHEAD_MS.hint, sql`statement_timestamp()`)}`;
}

/**
 * With a queued submission that may be tried now. Asked each second, since a NOTIFY of `submit` would take a lock of the
 * whole cluster; costs one look into the index of open submissions for each account.
 */
function withSubmissions(db: Db): RawBuilder<unknown> {
  return sql`
    select 'submission' as what, a._user_id as "userId" from ${db.stateTable('account')} as a
    where exists (
      select from ${db.table('submissions')} as s
      where s._user_id = a._user_id and s.state = 'queued'
        and (s._not_before is null or ${hasCome(sql`s._not_before`, AHEAD_MS.submission)}))`;
}
