import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { collection as catalogued, type CollectionName, type Scope } from '../../model/collections.ts';
import { STAMP_EVERY_MS } from '../quarantine/plan.ts';

/** A scope's row in `<schema>_sync.scope`. */
export interface StoredScope {
  readonly scope: Scope;
  /** JSON as stored; {} for a new scope. */
  readonly memory: unknown;
  /** Since when it is to be read as soon as possible: its parent's row is new, or has changed. */
  readonly dueAt: Date | undefined;
  /** When its last walk ended. */
  readonly lastReadAt: Date | undefined;
  readonly polledAt: Date | undefined;
  readonly fullAt: Date | undefined;
  /** As of when everything, deletions included, is mirrored. */
  readonly completeAsOf: Date | undefined;
  /** Since when its parent's row is deleted. */
  readonly goneAt: Date | undefined;
  readonly liveRows: number;
  readonly lastError: string | undefined;
  readonly lastErrorAt: Date | undefined;
  /** Failures in a row. */
  readonly failures: number;
  /** Checkpoint of the unfinished full walk, JSON as stored; undefined where none is. */
  readonly fullWalk: unknown;
  readonly lastObs: number;
}

interface ScopeRow {
  readonly _user_id: string;
  readonly collection: CollectionName;
  readonly parent: string;
  readonly memory: unknown;
  readonly due_at: Date | null;
  readonly last_read_at: Date | null;
  readonly polled_at: Date | null;
  readonly full_at: Date | null;
  readonly complete_as_of: Date | null;
  readonly gone_at: Date | null;
  readonly live_rows: string;
  readonly last_error: string | null;
  readonly last_error_at: Date | null;
  readonly failures: number;
  readonly full_walk: unknown;
  readonly last_obs: string;
}

const COLUMNS = sql`t._user_id, t.collection, t.parent, t.memory, t.due_at, t.last_read_at, t.polled_at, t.full_at,
  t.complete_as_of, t.gone_at, t.live_rows, t.last_error, t.last_error_at, t.failures, t.full_walk, t.last_obs`;

/** The scope's row, made where there is none. In a fenced transaction, or for a scope that the account owns. */
export async function openScope(db: Db, scope: Scope): Promise<StoredScope> {
  const found = await readScope(db, scope);
  if (found !== undefined) return found;
  await sql`
    insert into ${db.stateTable('scope')} (_user_id, collection, parent)
    select a._user_id, ${scope.collection}, ${scope.parent} from ${db.stateTable('account')} as a
    where a._user_id = ${scope.userId}::bigint
    on conflict (_user_id, collection, parent) do nothing`.execute(db);
  const made = await readScope(db, scope);
  if (made === undefined) throw new Error(`account ${scope.userId} has no row`);
  return made;
}

export async function readScope(db: Db, scope: Scope): Promise<StoredScope | undefined> {
  const { rows } = await sql<ScopeRow>`
    select ${COLUMNS} from ${db.stateTable('scope')} as t
    where t._user_id = ${scope.userId}::bigint and t.collection = ${scope.collection} and t.parent = ${scope.parent}`.execute(
    db,
  );
  return rows.map(storedScope)[0];
}

/** What of a collection's scopes is to be read. */
export interface DueScopesQuery {
  readonly userId: string;
  readonly collection: CollectionName;
  /** Parents read, or found deleted, since then are left out, unless they have come due again. */
  readonly notReadSince: Date;
  /** By full walks, not by any read: a poll since then leaves a scope to be walked. */
  readonly fully: boolean;
  /** Parents under way, left out. */
  readonly except: readonly string[];
  readonly limit: number;
}

/**
 * Scopes of a collection that has one for each row of its parent's, in the order in which they are to be read: changed
 * and new ones first (the oldest of them first), then those with rows that may still change, then those read
 * longest ago. Deleted parents have none.
 */
export async function dueScopes(db: Db, due: DueScopesQuery): Promise<StoredScope[]> {
  const readAt = sql.id('t', due.fully ? 'full_at' : 'last_read_at');
  const { rows } = await sql<ScopeRow>`
    select ${COLUMNS} from ${db.stateTable('scope')} as t
    where t._user_id = ${due.userId}::bigint and t.collection = ${due.collection} and t.parent <> ''
      and t.parent <> all(${[...due.except]}::text[])
      and (t.due_at is not null or ${readAt} is null or ${readAt} < ${due.notReadSince})
      and t.gone_at is null
    order by t.due_at nulls last,
      exists (
        select from ${db.stateTable('unsettled')} as u
        where u._user_id = ${due.userId}::bigint and u.collection = t.collection and u.parent = t.parent) desc,
      ${readAt} nulls first, t.parent
    limit ${due.limit}`.execute(db);
  return rows.map(storedScope);
}

/**
 * As of when all scopes of a collection are polled: the least over those of parents that are not deleted; undefined
 * where there are none. `unread`: at least one of them was never polled, or can't be, its parent being in quarantine.
 */
export async function leastPolledAt(
  db: Db,
  userId: string,
  collection: CollectionName,
): Promise<{ readonly polledAt: Date | undefined; readonly unread: boolean }> {
  const { least, lacking } = await leastOfScopes(db, userId, collection, 'polled_at');
  return { polledAt: least, unread: lacking };
}

/**
 * As of when all scopes of a collection are mirrored with everything, deletions included: the least over those of
 * parents that are not deleted. `incomplete`: at least one of them has no such moment so far.
 */
export async function leastCompleteAsOf(
  db: Db,
  userId: string,
  collection: CollectionName,
): Promise<{ readonly completeAsOf: Date | undefined; readonly incomplete: boolean }> {
  const { least, lacking } = await leastOfScopes(db, userId, collection, 'complete_as_of');
  return { completeAsOf: least, incomplete: lacking };
}

/** Scopes of a collection that could not be read when they were read last, and the latest of their failures. */
export async function failingScopes(
  db: Db,
  userId: string,
  collection: CollectionName,
): Promise<{ readonly count: number; readonly latest: string | undefined }> {
  const { rows } = await sql<{ last_error: string; count: string }>`
    select t.last_error, count(*) over () as count from ${db.stateTable('scope')} as t
    where t._user_id = ${userId}::bigint and t.collection = ${collection} and t.parent <> ''
      and t.gone_at is null and t.last_error is not null
    order by t.last_error_at desc limit 1`.execute(db);
  return { count: Number(rows[0]?.count ?? 0), latest: rows[0]?.last_error };
}

async function leastOfScopes(
  db: Db,
  userId: string,
  collection: CollectionName,
  column: 'polled_at' | 'complete_as_of',
): Promise<{ readonly least: Date | undefined; readonly lacking: boolean }> {
  const moment = sql.id('t', column);
  const { rows } = await sql<{ least: Date | null; lacking: boolean }>`
    select min(${moment}) as least,
      coalesce(bool_or(${moment} is null), false) or ${hasUnread(db, userId, collection)} as lacking
    from ${db.stateTable('scope')} as t
    where t._user_id = ${userId}::bigint and t.collection = ${collection} and t.parent <> ''
      and t.gone_at is null`.execute(db);
  const [row] = rows;
  return { least: row?.least ?? undefined, lacking: row?.lacking ?? false };
}

/**
 * Whether a parent is in quarantine and has no row: it has no scope either, so that what hangs on it is not read. (One
 * that the last complete reading of the parents did not see is gone.)
 */
function hasUnread(db: Db, userId: string, name: CollectionName): RawBuilder<boolean> {
  const found = catalogued(name);
  if (found.kind !== 'list' || found.parent === undefined) return sql`false`;
  return sql`exists (
    select from ${db.table('quarantine')} as q
    where q._user_id = ${userId}::bigint and q.collection = ${found.parent.collection} and q.parent = ''
      and q.key is not null
      and not exists (
        select from ${db.stateTable('scope')} as s
        where s._user_id = ${userId}::bigint and s.collection = ${name} and s.parent = q.key)
      and not exists (
        select from ${db.stateTable('scope')} as p
        where p._user_id = ${userId}::bigint and p.collection = q.collection and p.parent = ''
          and p.full_at - ${`${STAMP_EVERY_MS} ms`}::interval > q.last_seen_at))`;
}

function storedScope(row: ScopeRow): StoredScope {
  return {
    scope: { userId: row._user_id, collection: row.collection, parent: row.parent },
    memory: row.memory,
    dueAt: row.due_at ?? undefined,
    lastReadAt: row.last_read_at ?? undefined,
    polledAt: row.polled_at ?? undefined,
    fullAt: row.full_at ?? undefined,
    completeAsOf: row.complete_as_of ?? undefined,
    goneAt: row.gone_at ?? undefined,
    liveRows: Number(row.live_rows),
    lastError: row.last_error ?? undefined,
    lastErrorAt: row.last_error_at ?? undefined,
    failures: row.failures,
    fullWalk: row.full_walk ?? undefined,
    lastObs: Number(row.last_obs),
  };
}
