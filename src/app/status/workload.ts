import { formatSpan } from '@research-mirror/runtime/figures';
import { sql } from 'kysely';
import type { Config } from '../../config/config.ts';
import { type Db, onlyRow } from '../../db/connection/db.ts';
import { isAnnounced } from '../../mirror/scope/scope-store.ts';
import type { AccountStatus, Backlog } from '../../model/status/status-report.ts';

/** What of a status report costs more than a look at a few rows: it is read at most once a minute. */
export interface Workload {
  readonly databaseBytes: number;
  /** By account and collection, `42/lists`; nothing is to be done in those that are left out. */
  readonly backlogs: ReadonlyMap<string, Backlog>;
  readonly credits: ReadonlyMap<string, AccountStatus['credits']>;
  /** On transactions that have been open for ten minutes. */
  readonly notes: readonly string[];
}

/** How long (ms) a transaction is open before `status` names it. */
const OLD_MS = 600_000;

export const NO_BACKLOG: Backlog = { dueLists: 0, unfinishedRows: 0, fieldsToFill: 0 };

export async function readWorkload(db: Db, { history }: Pick<Config, 'history'>): Promise<Workload> {
  const size = await db.sql<{ bytes: number }>`
    select pg_database_size(current_database())::float8 as bytes`;
  return {
    databaseBytes: onlyRow(size).bytes,
    backlogs: await backlogsOf(db),
    credits: await creditsOf(db, history.kept),
    notes: await oldTransactions(db, OLD_MS),
  };
}

async function backlogsOf(db: Db): Promise<Workload['backlogs']> {
  const { rows } = await db.sql<{ _user_id: string; collection: string } & Backlog>`
    select b._user_id, b.collection, sum(b.lists)::float8 as "dueLists", sum(b.rows)::float8 as "unfinishedRows",
      sum(b.fields)::float8 as "fieldsToFill"
    from (
      select t._user_id, t.collection, count(*) as lists, 0 as rows, 0 as fields
      from ${db.stateTable('scope')} as t
      where t.parent <> '' and ${isAnnounced(sql`now()`)} and t.gone_at is null group by t._user_id, t.collection
      union all
      select u._user_id, u.collection, 0, count(*), 0
      from ${db.stateTable('unsettled')} as u group by u._user_id, u.collection
      union all
      select f._user_id, f.collection, 0, 0, count(*)
      from ${db.stateTable('backfill')} as f group by f._user_id, f.collection
    ) as b
    group by b._user_id, b.collection`;
  return new Map(
    rows.map(({ _user_id: userId, collection, ...backlog }) => [`${userId}/${collection}`, backlog]),
  );
}

/** Versions are found by their end (index account_history_age): a year of them costs no more than a day. */
async function creditsOf(db: Db, history: boolean): Promise<Workload['credits']> {
  const { rows } = await db.sql<{ userId: string; left: string; burnt: string }>`
    select v._user_id as "userId", max(v.credits) filter (where v.stands)::text as left,
      coalesce(sum(v.before - v.credits) filter (where v.credits < v.before), 0)::text as burnt
    from (
      select w._user_id, w.credits, w.stands, lag(w.credits) over (partition by w._user_id order by w._change_id) as before
      from (
        select h._user_id, h._change_id, h.credits, false as stands
        from ${db.table('account')} as a
          join ${db.table('account_history')} as h on h._user_id = a._user_id
        where a._deleted_at is null and a.credits is not null
          and h._valid_to > now() - interval '24 hours' and h.credits is not null
        union all
        select a._user_id, a._change_id, a.credits, true
        from ${db.table('account')} as a where a._deleted_at is null and a.credits is not null) as w) as v
    group by v._user_id having bool_or(v.stands)`;
  return new Map(
    rows.map(({ userId, left, burnt }) => [userId, { left, burntLastDay: history ? burnt : null }]),
  );
}

/**
 * On open transactions on the mirror's database that are older than `ageMs`, the oldest first: vacuum keeps all that they
 * might still see. Of other users those that this one may see, all of them with pg_read_all_stats.
 */
export async function oldTransactions(db: Db, ageMs: number): Promise<string[]> {
  const { rows } = await db.sql<{ pid: number; whose: string; ageMs: number }>`
    select pid, usename || coalesce(' (' || nullif(application_name, '') || ')', '') as whose,
      (extract(epoch from clock_timestamp() - xact_start) * 1000)::float8 as "ageMs"
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and coalesce(backend_type, 'client backend') = 'client backend'
      and (backend_xmin is not null or backend_xid is not null or state like 'idle in transaction%')
      and xact_start < clock_timestamp() - ${ageMs} * interval '1 ms'
    order by xact_start`;
  return rows.map(
    (each) =>
      `a transaction of ${each.whose} is open for ${formatSpan(each.ageMs)}: vacuum removes nothing that it may still see. ` +
      `To end it: select pg_terminate_backend(${each.pid})`,
  );
}
