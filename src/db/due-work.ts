import { type RawBuilder, sql } from 'kysely';
import {
  type CollectionRuns,
  dueRuns,
  type DueRunsRow,
  type LatestRuns,
  runsOf,
} from './accounts/due-collections.ts';
import type { Db } from './connection/db.ts';
import { accountsWithDueHints } from './events/hint-store.ts';
import { accountsWithSubmissions } from './submissions/stored-submissions.ts';

/** What a process's accounts have to do. */
export interface DueWork {
  readonly runs: readonly CollectionRuns[];
  /** Accounts that have due hints. */
  readonly hinted: ReadonlySet<string>;
  /** Accounts that have submissions to be sent. */
  readonly submitting: ReadonlySet<string>;
  /** Accounts whose rows lack values of a new column. */
  readonly filling: ReadonlySet<string>;
}

type Row = Omit<DueRunsRow, 'collection'> & {
  readonly what: 'run' | 'hint' | 'submission' | 'column';
  readonly collection: DueRunsRow['collection'] | null;
};

/**
 * Looks for it in one statement: it is asked each second, and costs even where nothing is to be done.
 * @param userIds whose runs are looked for
 */
export async function dueWork(
  db: Db,
  userIds: readonly string[],
  latest: readonly LatestRuns[],
  now: Date,
): Promise<DueWork> {
  const accounts = (what: string, query: RawBuilder<unknown>): RawBuilder<unknown> => sql`
    select ${sql.lit(what)}, q."userId", null::text, null::timestamptz, null::timestamptz, null::timestamptz, null::timestamptz
    from (${query}) as q`;
  const { rows } = await db.sql<Row>`
    select 'run' as what, r.* from (${dueRuns(db, userIds, latest, now)}) as r
    union all ${accounts('hint', accountsWithDueHints(db))}
    union all ${accounts('submission', accountsWithSubmissions(db))}
    union all ${accounts('column', accountsToFill(db))}`;
  const of = (what: Row['what']): Set<string> =>
    new Set(rows.flatMap((row) => (row.what === what ? [row.userId] : [])));
  const runs = rows.flatMap(({ what, collection, ...row }) =>
    what === 'run' && collection !== null ? [runsOf({ ...row, collection }, now)] : [],
  );
  return { runs, hinted: of('hint'), submitting: of('submission'), filling: of('column') };
}

function accountsToFill(db: Db): RawBuilder<unknown> {
  return sql`select distinct b._user_id as "userId" from ${db.stateTable('backfill')} as b`;
}
