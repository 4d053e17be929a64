import type { Db } from '../connection/db.ts';
import type { ActivityStatus } from '../../model/status/status-report.ts';

/** What a process has done for an account since it last stored that. */
export interface AccountWork {
  /** Decimal digits of a bigint. */
  readonly userId: string;
  /** Rows inserted, updated and deleted. */
  readonly changes: number;
  /** Requests sent. */
  readonly requests: number;
}

const BUCKET_S = 300;
const BUCKET_MS = BUCKET_S * 1000;
/** Of a day. */
const BUCKETS = 288;

/**
 * Stores, in the bucket of `at`, what was done for accounts, and how fresh and how large they are: one statement,
 * however many accounts. It needs no fence: what was done is added to what others did, and the rest is read from the
 * database, so that two processes which take an account from each other store the same as one. Of accounts that are
 * retired or not known it stores nothing.
 * @param at by the database's clock
 */
export async function storeActivity(db: Db, at: number, work: readonly AccountWork[]): Promise<void> {
  const bucket = Math.floor(at / BUCKET_MS);
  const users = work.map(({ userId }) => userId);
  // The order is that in which rows are locked: two processes do not wait for each other.
  await db.sql`
    insert into ${db.stateTable('activity')} as b
      (_user_id, part_of_day, begins_at, age_seconds, live_rows, changes, requests)
    select a._user_id, ${bucket % BUCKETS}::bigint, ${new Date(bucket * BUCKET_MS)}::timestamptz,
      case when c.all_read then greatest(0, floor(extract(epoch from ${new Date(at)}::timestamptz - c.oldest)))::bigint end,
      coalesce(c.live_rows, 0), w.changes, w.requests
    from ${db.stateTable('account')} as a
    join unnest(${users}::bigint[], ${work.map(({ changes }) => changes)}::bigint[],
      ${work.map(({ requests }) => requests)}::bigint[]) as w (_user_id, changes, requests) on w._user_id = a._user_id
    left join (
      select f._user_id, sum(f.live_rows)::bigint as live_rows,
        min(f.polled_at) filter (where f.paused_at is null) as oldest,
        bool_and(f.polled_at is not null) filter (where f.paused_at is null) as all_read
      from ${db.table('_collections')} as f where f._user_id = any(${users}::bigint[]) group by f._user_id) as c
      on c._user_id = a._user_id
    where a._user_id = any(${users}::bigint[]) and a.state <> 'retired'
    order by a._user_id
    on conflict (_user_id, part_of_day) do update set
      begins_at = excluded.begins_at,
      age_seconds = case when b.begins_at = excluded.begins_at
        then greatest(b.age_seconds, excluded.age_seconds) else excluded.age_seconds end,
      live_rows = excluded.live_rows,
      changes = case when b.begins_at = excluded.begins_at then b.changes else 0 end + excluded.changes,
      requests = case when b.begins_at = excluded.begins_at then b.requests else 0 end + excluded.requests`;
}

/** `part_of_day`, `ageSeconds`, `liveRows`, `changes`, `requests`. */
type Bucket = readonly [number, number | null, number, number, number];

/** The last 24 hours of each account that has something in them, in whole buckets and the one that goes on at `now`. */
export async function readActivity(db: Db, now: Date): Promise<ReadonlyMap<string, ActivityStatus>> {
  const last = Math.floor(now.getTime() / BUCKET_MS);
  const first = last - BUCKETS + 1;
  // One text of JSON an account, made by hand: that takes a quarter of the time of rows, and half of json_agg's.
  const { rows } = await db.sql<{ userId: string; buckets: string }>`
    select b._user_id as "userId", concat('[[', string_agg(concat_ws(',', b.part_of_day,
      coalesce(b.age_seconds::text, 'null'), b.live_rows, b.changes, b.requests), '],['), ']]') as buckets
    from ${db.stateTable('activity')} as b
    where b.begins_at between ${new Date(first * BUCKET_MS)}::timestamptz and ${new Date(last * BUCKET_MS)}::timestamptz
    group by b._user_id`;
  return new Map(
    rows.map(({ userId, buckets }) => [userId, inColumns(first, JSON.parse(buckets) as readonly Bucket[])]),
  );
}

function inColumns(first: number, buckets: readonly Bucket[]): ActivityStatus {
  const column = (field: 1 | 2 | 3 | 4): (number | null)[] => {
    const values = Array.from<number | null>({ length: BUCKETS }).fill(null);
    for (const bucket of buckets) values[(bucket[0] + BUCKETS - (first % BUCKETS)) % BUCKETS] = bucket[field];
    return values;
  };
  return {
    from: new Date(first * BUCKET_MS).toISOString(),
    everySeconds: BUCKET_S,
    ageSeconds: column(1),
    liveRows: column(2),
    changes: column(3),
    requests: column(4),
  };
}
