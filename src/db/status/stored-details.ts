import { type RawBuilder, sql } from 'kysely';
import { databaseTime } from '../connection/database-time.ts';
import type { Db } from '../connection/db.ts';
import { type Collection, COLLECTIONS } from '../../model/collections.ts';
import type { AccountDetails, LastDay, LatestChange } from '../../model/status/status-report.ts';

/** Rows that are shown. */
const ENTRIES = 20;
const HALF_HOUR_S = 1800;
const HALF_HOURS = 48;
/** Walks looked at, the newest first: of ten thousand lists a day has fewer. */
const MOST_WALKS = 100_000;

/** What the account's page alone shows. */
export async function readAccountDetails(db: Db, userId: string): Promise<AccountDetails> {
  return { latestChanges: await latestChangesOf(db, userId), lastDay: await readLastDay(db, userId) };
}

/**
 * What an account's walks did in the last 24 hours, from the end of the index of `sync_log` by their begin. A walk that
 * began before is left out.
 */
export async function readLastDay(db: Db, userId: string): Promise<LastDay> {
  const now = (await databaseTime(db)).getTime() / 1000;
  const from = (Math.floor(now / HALF_HOUR_S) - HALF_HOURS + 1) * HALF_HOUR_S;
  const { rows } = await db.sql<{ part: number; changes: number; requests: number }>`
    select l.part, sum(l.changes)::float8 as changes, sum(l.requests)::float8 as requests
    from (
      select floor((extract(epoch from w.ended_at) - ${from}::float8) / ${HALF_HOUR_S}::float8)::int as part,
        case when w.collection = 'account' then 0 else w.inserted + w.updated + w.deleted end as changes, w.requests
      from ${db.table('sync_log')} as w
      where w._user_id = ${userId}::bigint and w.started_at >= to_timestamp(${from}::float8)
      order by w.started_at desc limit ${MOST_WALKS}) as l
    group by l.part order by l.part`;
  const column = (field: 'changes' | 'requests'): number[] =>
    Array.from({ length: HALF_HOURS }, (_, part) => rows.find((row) => row.part === part)?.[field] ?? 0);
  return { changes: column('changes'), requests: column('requests') };
}

/** The account's rows that changed last, the newest first: the end of each table's index by `_change_id`. */
export async function latestChangesOf(db: Db, userId: string): Promise<LatestChange[]> {
  const parts = COLLECTIONS.map(
    (each) => sql`
      (select ${each.name}::text as collection, ${keyOf(each)} as key, t._change_id as "changeId",
        coalesce(t._deleted_at, t._changed_at) as at,
        case when t._deleted_at is not null then 'delete' when t._changed_at = t._first_seen_at then 'insert'
          else 'update' end as op
      from ${db.table(each.name)} as t where t._user_id = ${userId}::bigint
      order by t._change_id desc limit ${ENTRIES})`,
  );
  const { rows } = await db.sql<Omit<LatestChange, 'at' | 'userId'> & { at: Date }>`
    select v.* from (${sql.join(parts, sql` union all `)}) as v order by v."changeId" desc limit ${ENTRIES}`;
  return rows.map(({ at, ...row }) => ({ at: at.toISOString(), userId, ...row }));
}

/** The row's key as the view `changes` has it. */
function keyOf(collection: Collection): RawBuilder<unknown> {
  if (collection.kind === 'single') return sql`t._user_id::text`;
  const key = sql.ref(`t.${collection.keyField}`);
  const { parent } = collection;
  return parent === undefined
    ? sql`${key}::text`
    : sql`concat(${sql.ref(`t.${parent.column}`)}, ':', ${key})`;
}
