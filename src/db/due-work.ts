import { type RawBuilder, sql } from 'kysely';
import type { CollectionName } from '../model/collections.ts';
import type { Db } from './connection/db.ts';
import { AHEAD_MS, hasCome } from './ownership/moment-ahead.ts';

/** The next times of a collection's cron lines; null: it has no such line. */
export interface LatestRuns {
  readonly name: CollectionName;
  readonly nextPollAt: Date | null;
  readonly nextFullAt: Date | null;
}

/** What others left for accounts. */
export interface WaitingWork {
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
export interface DueWork extends WaitingWork {
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
export async function waitingWork(db: Db): Promise<WaitingWork> {
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
