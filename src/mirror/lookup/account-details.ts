import { databaseTime } from '../../db/connection/database-time.ts';
import type { Db } from '../../db/connection/db.ts';
import type { AccountDetails } from '../../model/status/status-report.ts';
import { latestRows } from './search-mirror.ts';

const HALF_HOUR_S = 1800;
const HALF_HOURS = 48;
/** Walks looked at, the newest first: of ten thousand lists a day has fewer. */
const MOST_WALKS = 100_000;

/** What the account's page alone shows. */
export async function readAccountDetails(db: Db, userId: string): Promise<AccountDetails> {
  return { latestRows: await latestRows(db, userId), lastDay: await readLastDay(db, userId) };
}

/**
 * What an account's walks did in the last 24 hours, from the end of the index of `sync_log` by their begin. A walk that
 * began before is left out.
 */
export async function readLastDay(db: Db, userId: string): Promise<AccountDetails['lastDay']> {
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
