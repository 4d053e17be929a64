import { type QueryResult, sql } from 'kysely';
import { databaseTime, type Db } from '../postgres/db.ts';
import { AHEAD_MS, BLOCK_MEMORY_MS } from '../postgres/clock-step.ts';
import { loadedBlock, loadedLearnt } from '../service/budget-store.ts';
import { COLLECTION_COLUMNS } from '../model/collection-columns.ts';
import { SUBMISSION_STATES } from '../model/submission.ts';
import { registrationState } from '../events/registration.ts';
import type { AccountStatus, Backlog, CollectionStatus, Facts } from './status-report.ts';

/** Most errors and unfinished walks in a report. */
const ERRORS = 5;
const WALKS = 50;
const DAY_MS = 86_400_000;
const NO_SUBMISSIONS = Object.fromEntries(SUBMISSION_STATES.map((state) => [state, 0])) as AccountStatus['submissions'];

/** The part of a report that Postgres has. @param db a snapshot, so that figures agree while pages commit */
export async function readStoredStatus(db: Db) {
  const now = await databaseTime(db);
  type Installation = Record<'since' | 'why', string | null> & { readonly aheadMs: number | null };
  const installations = await rowsOf(db.sql<Installation>`
    select held_at as since, held_why as why,
      extract(epoch from alive_at - ${now}::timestamptz)::float8 * 1000 as "aheadMs"
    from ${db.stateTable('installation')}`);
  const { since = null, why = null, aheadMs = null } = installations[0] ?? {};
  const held = since === null ? null : { since, why: why ?? 'the database was restored or copied' };
  const recoveries = await rowsOf(db.sql<Record<'at' | 'reason', string>>`
    select detected_at as at, reason from ${db.table('recoveries')}
    where detected_at > ${daysBefore(now, 7)}::timestamptz order by detected_at desc limit 1`);
  return {
    now,
    // A heartbeat that lies further ahead is from before the clock went back.
    processes: await rowsOf(db.sql<Facts['processes'][number]>`
      select process_id as "processId", command, version, host, pid, started_at as "startedAt",
        alive_until > ${now}::timestamptz
          and alive_until <= ${new Date(now.getTime() + AHEAD_MS.aliveUntil)}::timestamptz as alive
      from ${db.stateTable('process')} where alive_until > ${daysBefore(now, 1)}::timestamptz
      order by started_at desc`),
    accounts: await accountsAt(db, now),
    budgets: await budgetsAt(db, now),
    errors: await rowsOf(db.sql<Facts['errors'][number]>`
      select ended_at as at, concat_ws('/', _user_id, collection, list_id) as "where", error as message
      from ${db.table('sync_log')} where error is not null order by ended_at desc limit ${ERRORS}`),
    held,
    recovery: recoveries[0] ?? null,
    // By how much the database's clock went back since a daemon's last heartbeat.
    clockBackMs: Math.max(0, aheadMs ?? 0),
  };
}

/** Accounts without backlogs, credits and budgets. */
async function accountsAt(db: Db, now: Date) {
  type Row = Pick<AccountStatus, 'userId' | 'email' | 'state' | 'error' | 'owner'> &
    Pick<AccountStatus['webhook'], 'renewedSince' | 'lastEventAt' | 'hintsWaiting'> &
    Readonly<Record<'registration' | 'webhookError' | 'url', string | null>> & { readonly recheck: boolean };
  // Each subquery is one look at the end of an index. `recheck`: the database went back or was copied, and no daemon
  // has looked since. What it has of the service's side is outdated, and full walks are due.
  const rows = await rowsOf(db.sql<Row>`
    select a._user_id as "userId", m.email, a.error, a.owner, a.recheck,
      case when a.state in ('stopped', 'retired') then a.state else 'active' end as state,
      r.state as registration, r.error as "webhookError",
      case when r.state in ('registered', 'registering', 'suspect') then r.url when not a.recheck then w.url end as url,
      (select max(x.at) from unnest(r.replaced_at) as x (at)
        where x.at > ${daysBefore(now, 1)}::timestamptz and r.state = 'registered' and r.registered_at >= x.at)
        as "renewedSince",
      (select max(e.received_at) from ${db.table('events')} as e where e._user_id = a._user_id) as "lastEventAt",
      (select count(*) from ${db.stateTable('hint')} as h where h._user_id = a._user_id)::float8 as "hintsWaiting"
    from ${db.stateTable('account')} as a
    left join ${db.table('account')} as m on m._user_id = a._user_id
    left join ${db.table('webhook')} as w on w._user_id = a._user_id and w._deleted_at is null
    left join ${db.stateTable('registration')} as r on r._user_id = a._user_id
    order by a._user_id`);
  const columns = COLLECTION_COLUMNS.map(
    ({ field, column, kind }) => sql`${sql.id(column)}${kind === 'count' ? sql`::float8` : sql``} as ${sql.id(field)}`,
  );
  const collections = await byUser(db.sql<Omit<CollectionStatus, keyof Backlog>>`
    select _user_id as "userId", collection, state, ${sql.join(columns)}
    from ${db.table('freshness')} as f join ${db.table('data_quality')} as q using (_user_id, collection)
    order by collection`);
  // Full walks that run or are left to be resumed (src/walk/checkpoint.ts).
  const walks = await byUser(db.sql<AccountStatus['walks'][number]>`
    select _user_id as "userId", collection, nullif(parent, '') as "listId",
      to_timestamp(coalesce((full_walk ->> 'began')::float8, 0) / 1000) as "startedAt",
      coalesce((full_walk ->> 'pages')::float8, 0) as pages, coalesce((full_walk ->> 'items')::float8, 0) as items
    from ${db.stateTable('scope')} where full_walk is not null
    order by _user_id, collection, parent limit ${WALKS}`);
  const submissions = await byUser(db.sql<{ readonly state: string; readonly rows: number }>`
    select a._user_id as "userId", s.state, s.rows::float8 as rows
    from ${db.stateTable('account')} as a cross join lateral (
      select o.state, count(*) as rows from ${db.table('submissions')} as o
      where o._user_id = a._user_id and o.state in ('queued', 'sending', 'held') group by o.state
      union all
      select d.state, count(*) from ${db.table('submissions')} as d
      where d._user_id = a._user_id and d.done_at > ${daysBefore(now, 1)}::timestamptz
        and d.state not in ('queued', 'sending', 'held') group by d.state
    ) as s`);
  return rows.map((row) => {
    const { recheck, registration, webhookError, url, renewedSince, lastEventAt, hintsWaiting, ...account } = row;
    const counts = (submissions.get(account.userId) ?? []).map((each) => [each.state, each.rows] as const);
    return {
      ...account,
      collections: (collections.get(account.userId) ?? []).map((each) => ({
        ...each,
        nextFullAt: recheck && each.state !== 'paused' ? now.toISOString() : each.nextFullAt,
      })),
      walks: walks.get(account.userId) ?? [],
      // Only the host of the URL, whose path may contain a secret.
      webhook: {
        state: registrationState(registration),
        host: url === null ? null : (URL.parse(url)?.host ?? null),
        error: webhookError,
        renewedSince,
        lastEventAt,
        hintsWaiting,
      },
      submissions: { ...NO_SUBMISSIONS, ...Object.fromEntries(counts) },
    };
  });
}

/** Stored budgets of keys: without waiting requests and others' use, which only the keys' owner knows. */
async function budgetsAt(db: Db, now: Date) {
  const keyOf = (row: { _user_id: string; key_hash: string }): string => `${row._user_id} ${row.key_hash}`;
  const since = new Date(now.getTime() - BLOCK_MEMORY_MS);
  const recent = db.state.selectFrom('slot_block').selectAll().where('valid_until', '>=', since);
  const blocksOf = Map.groupBy(await recent.execute(), keyOf);
  const learnt = db.state.selectFrom('rate_group').selectAll().orderBy('key_hash').orderBy('rate_group');
  return [...Map.groupBy(await learnt.execute(), keyOf)].map(([key, rows]) => {
    const [userId = '', keyHash = ''] = key.split(' ');
    const blocks = (blocksOf.get(key) ?? []).map(loadedBlock);
    return { userId, keyHash, now: now.getTime(), known: true, blocks, learnt: rows.map(loadedLearnt) };
  });
}

function daysBefore(now: Date, days: number): Date {
  return new Date(now.getTime() - days * DAY_MS);
}

/** Rows as plain JSON: times are ISO 8601 in UTC. */
async function rowsOf<Row>(asked: Promise<QueryResult<Row>>): Promise<Row[]> {
  return JSON.parse(JSON.stringify((await asked).rows)) as Row[];
}

async function byUser<Row>(asked: Promise<QueryResult<Row>>): Promise<ReadonlyMap<string, Row[]>> {
  const groups = new Map<string, Row[]>();
  for (const { userId, ...row } of (await rowsOf(asked)) as { userId: string }[])
    groups.set(userId, [...(groups.get(userId) ?? []), row as Row]);
  return groups;
}
