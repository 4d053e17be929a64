import { type Db, onlyRow } from '../../db/connection/db.ts';
import type { AccountDetails } from '../../model/status/status-report.ts';
import { latestRows } from './search-mirror.ts';

/** What the account's page alone shows. */
export async function readAccountDetails(db: Db, userId: string): Promise<AccountDetails> {
  return { latestRows: await latestRows(db, userId), lastDay: await readLastDay(db, userId) };
}

/**
 * What an account's walks did in the last 48 half hours, each in the one in which it ended, from the end of the index of
 * `sync_log` by their begin. A walk that began before is left out.
 */
export async function readLastDay(db: Db, userId: string): Promise<AccountDetails['lastDay']> {
  return onlyRow(
    await db.sql<AccountDetails['lastDay']>`
      select array_agg(coalesce(l.changes, 0) order by h.at) as changes,
        array_agg(coalesce(l.requests, 0) order by h.at) as requests
      from generate_series(0, 47) as n
        cross join lateral date_bin('30 min', now() - n * interval '30 min', 'epoch') as h (at)
        left join (
          select date_bin('30 min', w.ended_at, 'epoch') as at, sum(w.requests)::float8 as requests,
            sum(case when w.collection = 'account' then 0 else w.inserted + w.updated + w.deleted end)::float8 as changes
          from ${db.table('sync_log')} as w
          where w._user_id = ${userId}::bigint
            and w.started_at >= date_bin('30 min', now() - 47 * interval '30 min', 'epoch')
          group by 1) as l on l.at = h.at`,
  );
}
