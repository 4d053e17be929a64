import { type RawBuilder, sql } from 'kysely';
import {
  type CollectionRuns,
  dueRuns,
  type DueRunsRow,
  type LatestRuns,
  nextRun,
  runsOf,
} from './accounts/due-collections.ts';
import { quotedText } from './connection/quoted.ts';
import type { Db } from './connection/db.ts';
import { accountsWithDueHints } from './events/hint-store.ts';
import { accountsWithSubmissions } from './submissions/stored-submissions.ts';

/** What others left for accounts. */
export interface WaitingWork {
  /** Accounts that have due hints. */
  readonly hinted: ReadonlySet<string>;
  /** Accounts that have submissions to be sent. */
  readonly submitting: ReadonlySet<string>;
}

/** What a process's accounts have to do. */
export interface DueWork extends WaitingWork {
  readonly runs: readonly CollectionRuns[];
  /** When the next run is due that is not due yet; null: none is known. */
  readonly nextRunAt: Date | null;
  /** Accounts whose rows lack values of a new column. */
  readonly filling: ReadonlySet<string>;
}

type Row = Omit<DueRunsRow, 'collection' | 'userId'> & {
  readonly what: 'run' | 'next' | 'hint' | 'submission' | 'column';
  readonly userId: string | null;
  readonly collection: DueRunsRow['collection'] | null;
};

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
  const accounts = (what: string, query: RawBuilder<unknown>): RawBuilder<unknown> => sql`
    select ${sql.raw(quotedText(what))}, q."userId", null::text, null::timestamptz, null::timestamptz, null::timestamptz, null::timestamptz
    from (${query}) as q`;
  const { rows } = await db.sql<Row>`
    select 'run' as what, r.* from (${dueRuns(db, userIds, latest, now)}) as r
    union all select 'next', null, null, n.at, null, null, null from (${nextRun(db, userIds, now)}) as n
    union all ${accounts('hint', accountsWithDueHints(db))}
    union all ${accounts('submission', accountsWithSubmissions(db))}
    union all ${accounts('column', accountsToFill(db))}`;
  const runs = rows.flatMap(({ what, userId, collection, ...row }) =>
    what === 'run' && userId !== null && collection !== null
      ? [runsOf({ ...row, userId, collection }, now)]
      : [],
  );
  return {
    runs,
    nextRunAt: rows.find(({ what }) => what === 'next')?.pollAt ?? null,
    hinted: accountsIn(rows, 'hint'),
    submitting: accountsIn(rows, 'submission'),
    filling: accountsIn(rows, 'column'),
  };
}

/** Looks only for what has no stored moment that is known before: it is asked each second. */
export async function waitingWork(db: Db): Promise<WaitingWork> {
  const { rows } = await db.sql<Pick<Row, 'what' | 'userId'>>`
    select 'hint' as what, h."userId" from (${accountsWithDueHints(db)}) as h
    union all select 'submission', s."userId" from (${accountsWithSubmissions(db)}) as s`;
  return { hinted: accountsIn(rows, 'hint'), submitting: accountsIn(rows, 'submission') };
}

function accountsIn(rows: readonly Pick<Row, 'what' | 'userId'>[], what: Row['what']): ReadonlySet<string> {
  return new Set(rows.flatMap((row) => (row.what === what && row.userId !== null ? [row.userId] : [])));
}

function accountsToFill(db: Db): RawBuilder<unknown> {
  return sql`select distinct b._user_id as "userId" from ${db.stateTable('backfill')} as b`;
}
