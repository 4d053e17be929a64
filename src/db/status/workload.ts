import type { RawBuilder } from 'kysely';
import type { Db } from '../connection/db.ts';
import { onlyRow } from '../connection/db.ts';
import { type OldReader, oldReaders } from '../inspection/oldest-readers.ts';
import type { Backlog, CreditsStatus } from '../../model/status/status-report.ts';

/** What of a status report costs more than a look at a few rows: it is read at most once a minute. */
export interface Workload {
  readonly databaseBytes: number;
  /** By account and collection, `42/lists`; nothing is to be done in those that are left out. */
  readonly backlogs: ReadonlyMap<string, Backlog>;
  /** By account. */
  readonly credits: ReadonlyMap<string, CreditsStatus>;
  /** Items in quarantine without a usable key, by account and collection: their pages prove no deletion. */
  readonly keyless: ReadonlyMap<string, number>;
  /** What readings have shown, by account and collection; of a collection of lists' items, the sums of all lists. */
  readonly learnt: ReadonlyMap<string, LearntSums>;
  /** Transactions of anybody that have been open for long. */
  readonly oldReaders: readonly OldReader[];
}

/** Columns of `<schema>_sync.scope`, summed up over a collection's scopes (src/plan/learnt-changes.ts). */
interface LearntSums {
  readonly changes: number;
  readonly announced: number;
  readonly watchedMs: number;
  readonly cost: number;
  /** Σ √(cost × changes per millisecond). */
  readonly need: number;
}

/** A transaction that is open for so long (ms) is worth a note. */
const OLD_READER_MS = 600_000;

export const NO_BACKLOG: Backlog = { dueLists: 0, unfinishedRows: 0, fieldsToFill: 0 };

interface WorkloadQuery {
  /** Whether versions are kept: without them it is not known what was burnt. */
  readonly history: boolean;
  /** One change of a list in so long is taken for granted (src/plan/change-rate.ts). */
  readonly priorMs: number;
  /** A condition of a row `s` of `scope`: it has one for its parent, whose change is a reason to read it soon. */
  readonly isAnnounced: RawBuilder<boolean>;
}

export async function readWorkload(
  db: Db,
  { history, priorMs, isAnnounced }: WorkloadQuery,
): Promise<Workload> {
  const size = await db.sql<{ bytes: number }>`
    select pg_database_size(current_database())::float8 as bytes`;
  return {
    databaseBytes: onlyRow(size).bytes,
    backlogs: await backlogsOf(db, isAnnounced),
    credits: await creditsOf(db, history),
    keyless: await keylessOf(db),
    learnt: await learntOf(db, priorMs),
    oldReaders: (await oldReaders(db, OLD_READER_MS)).found,
  };
}

async function keylessOf(db: Db): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.sql<{ _user_id: string; collection: string; items: number }>`
    select q._user_id, q.collection, count(*)::float8 as items
    from ${db.table('quarantine')} as q where q.key is null group by q._user_id, q.collection order by 1, 2`;
  return new Map(rows.map(({ _user_id: userId, collection, items }) => [`${userId}/${collection}`, items]));
}

async function learntOf(db: Db, priorMs: number): Promise<ReadonlyMap<string, LearntSums>> {
  const { rows } = await db.sql<{ _user_id: string; collection: string } & LearntSums>`
    select s._user_id, s.collection, sum(s.changes) as changes, sum(s.announced) as announced,
      sum(s.watched_ms) as "watchedMs", sum(s.cost) as cost,
      sum(sqrt(s.cost * (1 + s.changes) / (s.watched_ms + ${priorMs}::float8))) as need
    from ${db.stateTable('scope')} as s where s.gone_at is null group by s._user_id, s.collection`;
  return new Map(
    rows.map(({ _user_id: userId, collection, ...learnt }) => [`${userId}/${collection}`, learnt]),
  );
}

async function backlogsOf(db: Db, isAnnounced: RawBuilder<boolean>): Promise<ReadonlyMap<string, Backlog>> {
  const { rows } = await db.sql<{ _user_id: string; collection: string } & Backlog>`
    select b._user_id, b.collection, sum(b.lists)::float8 as "dueLists", sum(b.rows)::float8 as "unfinishedRows",
      sum(b.fields)::float8 as "fieldsToFill"
    from (
      select s._user_id, s.collection, count(*) as lists, 0 as rows, 0 as fields
      from ${db.stateTable('scope')} as s
      where s.parent <> '' and ${isAnnounced} and s.gone_at is null group by s._user_id, s.collection
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
async function creditsOf(db: Db, history: boolean): Promise<ReadonlyMap<string, CreditsStatus>> {
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
