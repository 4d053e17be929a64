import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { BLOCK_MEMORY_MS } from '../../budget/slots/timing.ts';
import type { LoadedBudget } from '../../budget/store/store.ts';
import { loadedBlock, loadedLearnt } from '../budget/budget-store.ts';
import { COLLECTION_COLUMNS } from '../../model/collection-columns.ts';
import type {
  AccountStatus,
  Backlog,
  CollectionStatus,
  ErrorStatus,
  HoldStatus,
  ProcessStatus,
  RecoveryStatus,
  SubmissionCounts,
  WalkStatus,
  WebhookStatus,
} from '../../model/status/status-report.ts';
import { AHEAD_MS } from '../ownership/moment-ahead.ts';
import { registrationState } from '../webhook/webhook-store.ts';

/** An account without what is read less often (workload.ts). */
interface StoredAccount extends Omit<AccountStatus, 'collections' | 'credits' | 'activity' | 'budgets'> {
  readonly collections: readonly Omit<CollectionStatus, keyof Backlog>[];
  readonly budgets: readonly StoredBudget[];
}

/** What any program knows of a key's budget: others' use, and what waits, only its owner does. */
export interface StoredBudget extends LoadedBudget {
  readonly keyHash: string;
}

/** The part of a status report that any program can make: from Postgres alone. */
export interface StoredStatus {
  /** The database's time. */
  readonly now: Date;
  readonly processes: readonly ProcessStatus[];
  readonly accounts: readonly StoredAccount[];
  readonly errors: readonly ErrorStatus[];
  readonly held: HoldStatus | null;
  readonly recovery: RecoveryStatus | null;
  /** How far the database's clock is behind what it showed to a daemon before: it went back. */
  readonly clockBackMs: number;
}

/** Errors shown, and unfinished walks, over all accounts. */
const ERRORS = 5;
const WALKS = 50;

const NO_SUBMISSIONS: SubmissionCounts = {
  queued: 0,
  sending: 0,
  held: 0,
  accepted: 0,
  rejected: 0,
  unknown: 0,
  cancelled: 0,
};

/** Reads the state of all accounts. @param db a snapshot, so that figures agree while pages commit */
export async function readStoredStatus(db: Db): Promise<StoredStatus> {
  const { rows } = await db.sql<{ now: Date }>`select clock_timestamp() as now`;
  const now = rows[0]?.now ?? new Date(0);
  const [installation] = await rowsOf(
    db,
    sql<{ since: string | null; why: string | null; aheadMs: number }>`
      select held_at as since, held_why as why,
        extract(epoch from alive_at - ${now}::timestamptz)::float8 * 1000 as "aheadMs"
      from ${db.stateTable('installation')}`,
  );
  const { since = null, why, aheadMs = 0 } = installation ?? {};
  const { accounts, recheck } = await accountsAt(db, now);
  return {
    now,
    processes: await rowsOf(
      db,
      // A heartbeat that lies further ahead is of a time before the clock went back.
      sql<ProcessStatus>`
        select process_id as "processId", command, version, host, pid, started_at as "startedAt",
          alive_until > ${now}::timestamptz
            and alive_until <= ${now}::timestamptz + ${`${AHEAD_MS.aliveUntil} ms`}::interval as alive
        from ${db.stateTable('process')} where alive_until > ${now}::timestamptz - interval '24 hours'
        order by started_at desc`,
    ),
    accounts,
    errors: await rowsOf(
      db,
      sql<ErrorStatus>`
        select ended_at as at, concat_ws('/', _user_id, collection, list_id) as "where", error as message
        from ${db.table('sync_log')} where error is not null order by ended_at desc limit ${ERRORS}`,
    ),
    held: since === null ? null : { since, why: why ?? 'the database was restored or copied' },
    recovery: await recoveryAt(db, now, recheck),
    clockBackMs: Math.max(0, aheadMs),
  };
}

interface AccountRow extends Pick<StoredAccount, 'userId' | 'email' | 'state' | 'error' | 'owner'> {
  readonly recheck: boolean;
  readonly registration: string | null;
  readonly ownUrl: string | null;
  readonly registeredUrl: string | null;
  readonly webhookError: string | null;
  readonly renewedSince: string | null;
  readonly lastEventAt: string | null;
  readonly hintsWaiting: number;
}

async function accountsAt(
  db: Db,
  now: Date,
): Promise<{ readonly accounts: StoredAccount[]; readonly recheck: boolean }> {
  // What is asked for by account is one look at the end of an index.
  const rows = await rowsOf(
    db,
    sql<AccountRow>`
      select a._user_id as "userId", m.email, a.error, a.owner, a.recheck,
        case when a.state in ('stopped', 'retired') then a.state else 'active' end as state,
        r.state as registration, r.url as "ownUrl", w.url as "registeredUrl", r.error as "webhookError",
        (select max(x.at) from unnest(r.replaced_at) as x (at)
          where x.at > ${now}::timestamptz - interval '24 hours' and r.state = 'registered' and r.registered_at >= x.at)
          as "renewedSince",
        (select max(e.received_at) from ${db.table('events')} as e where e._user_id = a._user_id) as "lastEventAt",
        (select count(*) from ${db.stateTable('hint')} as h where h._user_id = a._user_id)::float8 as "hintsWaiting"
      from ${db.stateTable('account')} as a
      left join ${db.table('account')} as m on m._user_id = a._user_id
      left join ${db.table('webhook')} as w on w._user_id = a._user_id and w._deleted_at is null
      left join ${db.stateTable('registration')} as r on r._user_id = a._user_id
      order by a._user_id`,
  );
  const collections = byUser(await collectionsOf(db));
  const walks = byUser(await walksOf(db));
  const submissions = byUser(await submissionsOf(db, now));
  const budgets = byUser(await budgetsAt(db, now));
  const accounts = rows.map(({ userId, email, state, error, owner, recheck, ...row }) => ({
    userId,
    email,
    state,
    error,
    owner,
    // A database that went back or was copied: what is due then is stored when a daemon takes the account.
    collections: (collections.get(userId) ?? []).map((each) =>
      recheck && each.nextFullAt !== null ? { ...each, nextFullAt: now.toISOString() } : each,
    ),
    walks: walks.get(userId) ?? [],
    budgets: budgets.get(userId) ?? [],
    webhook: webhookOf(row, recheck),
    submissions: {
      ...NO_SUBMISSIONS,
      ...Object.fromEntries((submissions.get(userId) ?? []).map((each) => [each.state, each.rows])),
    },
  }));
  return { accounts, recheck: rows.some(({ recheck }) => recheck) };
}

/** @param recheck what is known of the service's side is of before the database went back or was copied */
function webhookOf(row: Omit<AccountRow, keyof StoredAccount | 'recheck'>, recheck: boolean): WebhookStatus {
  const { registration, ownUrl, registeredUrl, webhookError, renewedSince, lastEventAt, hintsWaiting } = row;
  const state = registrationState(registration);
  const ours = state === 'registered' || state === 'registering' || state === 'suspect';
  const url = ours ? ownUrl : recheck ? null : registeredUrl;
  // Of a URL only the host is shown: its path may contain a secret.
  const host = url === null ? null : (URL.parse(url)?.host ?? null);
  return { state, host, error: webhookError, renewedSince, lastEventAt, hintsWaiting };
}

async function collectionsOf(db: Db): Promise<(StoredAccount['collections'][number] & OfUser)[]> {
  const columns = COLLECTION_COLUMNS.map(({ field, column, kind, view }) => {
    const value = sql.ref(`${view}.${column}`);
    return sql`${kind === 'count' ? sql`${value}::float8` : value} as ${sql.id(field)}`;
  });
  return rowsOf(
    db,
    sql`
      select freshness._user_id as "userId", freshness.collection, freshness.state, ${sql.join(columns)}
      from ${db.table('freshness')} as freshness
      join ${db.table('data_quality')} as data_quality
        on data_quality._user_id = freshness._user_id and data_quality.collection = freshness.collection
      order by freshness.collection`,
  );
}

/** Unfinished full walks: under way, or left by an interrupted program to be resumed (src/walk/checkpoint.ts). */
async function walksOf(db: Db): Promise<(WalkStatus & OfUser)[]> {
  return rowsOf(
    db,
    sql`
      select _user_id as "userId", collection, nullif(parent, '') as "listId", 'full' as kind,
        to_timestamp(coalesce((full_walk ->> 'began')::float8, 0) / 1000) as "startedAt",
        coalesce((full_walk ->> 'pages')::float8, 0) as pages, coalesce((full_walk ->> 'items')::float8, 0) as items
      from ${db.stateTable('scope')} where full_walk is not null
      order by _user_id, collection, parent limit ${WALKS}`,
  );
}

/** Submissions that wait, and those that ended within a day. */
async function submissionsOf(
  db: Db,
  now: Date,
): Promise<({ readonly state: string; readonly rows: number } & OfUser)[]> {
  const submissions = db.table('submissions');
  return rowsOf(
    db,
    sql`
      select a._user_id as "userId", s.state, s.rows::float8 as rows
      from ${db.stateTable('account')} as a cross join lateral (
        select o.state, count(*) as rows from ${submissions} as o
        where o._user_id = a._user_id and o.state in ('queued', 'sending', 'held') group by o.state
        union all
        select d.state, count(*) from ${submissions} as d
        where d._user_id = a._user_id and d.done_at > ${now}::timestamptz - interval '24 hours'
          and d.state not in ('queued', 'sending', 'held') group by d.state
      ) as s`,
  );
}

async function budgetsAt(db: Db, now: Date): Promise<(StoredBudget & OfUser)[]> {
  const blocks = await db.state
    .selectFrom('slot_block')
    .selectAll()
    .where('valid_until', '>=', new Date(now.getTime() - BLOCK_MEMORY_MS))
    .execute();
  const learnt = await db.state
    .selectFrom('rate_group')
    .selectAll()
    .orderBy('_user_id')
    .orderBy('key_hash')
    .orderBy('rate_group')
    .execute();
  const keyOf = (row: { _user_id: string; key_hash: string }): string => `${row._user_id} ${row.key_hash}`;
  const blocksOf = Map.groupBy(blocks, keyOf);
  return [...Map.groupBy(learnt, keyOf)].map(([key, rows]) => {
    const [userId = '', keyHash = ''] = key.split(' ');
    const theirs = (blocksOf.get(key) ?? []).map(loadedBlock);
    return {
      userId,
      keyHash,
      now: now.getTime(),
      known: true,
      blocks: theirs,
      learnt: rows.map(loadedLearnt),
    };
  });
}

/** A database that went back within the last week. @param recheck an account is still to be looked at */
async function recoveryAt(db: Db, now: Date, recheck: boolean): Promise<RecoveryStatus | null> {
  const [found] = await rowsOf(
    db,
    sql<Omit<RecoveryStatus, 'open'>>`
      select detected_at as at, reason from ${db.table('recoveries')}
      where detected_at > ${now}::timestamptz - interval '7 days' order by detected_at desc limit 1`,
  );
  if (found === undefined) return null;
  // Walks that are due since then have not ended.
  const unread = await rowsOf(
    db,
    sql`select collection from ${db.table('_collections')} where next_full_at <= ${now}::timestamptz limit 1`,
  );
  return { ...found, open: recheck || unread.length > 0 };
}

interface OfUser {
  readonly userId: string;
}

function byUser<Row extends OfUser>(rows: readonly Row[]): Map<string, Omit<Row, 'userId'>[]> {
  const groups = new Map<string, Omit<Row, 'userId'>[]>();
  for (const { userId, ...row } of rows) groups.set(userId, [...(groups.get(userId) ?? []), row]);
  return groups;
}

/** A query's rows as the report has them: plain JSON, in which moments are ISO 8601 in UTC. */
async function rowsOf<Row>(db: Db, query: RawBuilder<Row>): Promise<Row[]> {
  const { rows } = await query.execute(db);
  return JSON.parse(JSON.stringify(rows)) as Row[];
}
