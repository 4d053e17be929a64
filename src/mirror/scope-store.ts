/** Rows of `scope`: what is due, the last observation, and the check that pages count in their order. */

import { ClassifiedError } from '@research-mirror/runtime/errors';
import { type RawBuilder, sql } from 'kysely';
import {
  childrenOf,
  collection,
  type CollectionName,
  type ListCollection,
  parentsOf,
  type Scope,
  scopeName,
} from '../model/collections.ts';
import { DatabaseWentBack } from '../model/errors.ts';
import type { Db } from '../postgres/db.ts';
import { type ScopeChange, STAMP_EVERY_MS } from './page-record.ts';
import { ofScope } from './table.ts';

/** A scope's row in `<schema>_sync.scope`. */
export interface StoredScope {
  readonly scope: Scope;
  /** JSON as stored; {} for a new scope. */
  readonly memory: unknown;
  /** Start of its last walk that has ended. */
  readonly lastReadAt: Date | undefined;
  readonly polledAt: Date | undefined;
  readonly fullAt: Date | undefined;
  /** Since when its parent's row is deleted. */
  readonly goneAt: Date | undefined;
  /** Checkpoint of the unfinished full walk, JSON as stored; undefined: there is none. */
  readonly fullWalk: unknown;
  readonly lastObs: number;
}

/** A row of `COLUMNS`: null where nothing is stored. */
type ScopeRow = { readonly parent: string } & Readonly<Record<string, unknown>>;

const COLUMNS = sql`t.parent, t.memory, t.last_read_at as "lastReadAt",
  t.polled_at as "polledAt", t.full_at as "fullAt", t.gone_at as "goneAt", t.full_walk as "fullWalk",
  t.last_obs::float8 as "lastObs"`;

/** The scope's row, which is added if missing. In a fenced transaction, or for a scope that the account owns. */
export async function openScope(db: Db, scope: Scope): Promise<StoredScope> {
  const found = await readScope(db, scope);
  if (found !== undefined) return found;
  await db.sql`
    insert into ${db.stateTable('scope')} (_user_id, collection, parent)
    select a._user_id, ${scope.collection}, ${scope.parent} from ${db.stateTable('account')} as a
    where a._user_id = ${scope.userId}::bigint
    on conflict (_user_id, collection, parent) do nothing`;
  const made = await readScope(db, scope);
  if (made === undefined) throw new Error(`account ${scope.userId} has no row`);
  return made;
}

export async function readScope(db: Db, scope: Scope): Promise<StoredScope | undefined> {
  const { rows } = await db.sql<ScopeRow>`
    select ${COLUMNS} from ${db.stateTable('scope')} as t
    where t._user_id = ${scope.userId}::bigint and ${ofScope('t', scope)}`;
  return rows.map((row) => storedScope(scope, row))[0];
}

/**
 * Scopes to be read, of a collection that has one for each row of its parent collection. In order: those whose parent's
 * row is new or has changed, the oldest change first; then those unread longest; last those that failed, until they have
 * rested. Deleted parents have none.
 * @param due.notReadSince parents read since then are left out, unless they have become due again
 * @param due.fully only full walks count as read
 * @param due.except parents that are left out: they are being read, or were read often enough
 * @param due.first which scopes go first: those whose parent's row has changed, or those unread longest
 * @param due.resting scopes that failed and have not rested yet: after all others, or left out
 */
export async function dueScopes(
  db: Db,
  due: {
    readonly userId: string;
    readonly collection: CollectionName;
    readonly notReadSince: Date;
    readonly fully: boolean;
    readonly except: readonly string[];
    readonly limit: number;
    readonly now: Date;
    readonly first: 'changed' | 'unread';
    readonly resting: 'last' | 'out';
  },
): Promise<StoredScope[]> {
  const readAt = sql.id('t', due.fully ? 'full_at' : 'last_read_at');
  // A scope that failed rests for a second after the first failure, twice as long after each further one, an hour at
  // most. The loop that repeats a failed reading (account-service.ts) waits as long, so it finds the scope rested. A
  // failure in the future is ignored: the clock went back.
  const now = sql`${due.now}::timestamptz`;
  const rests = sql`(t.failures > 0 and coalesce(t.last_error_at <= ${now} and t.last_error_at
    + least(3600, 2 ^ least(t.failures - 1, 12)) * interval '1 second' > ${now}, false))`;
  const { rows } = await db.sql<ScopeRow>`
    select ${COLUMNS} from ${db.stateTable('scope')} as t
    where t._user_id = ${due.userId}::bigint and t.collection = ${due.collection} and t.parent <> ''
      and t.parent <> all(${[...due.except]}::text[])
      and (t.due_at is not null or ${readAt} is null or ${readAt} < ${due.notReadSince})
      and t.gone_at is null ${due.resting === 'out' ? sql`and not ${rests}` : sql``}
    order by ${rests}, ${due.first === 'changed' ? sql`t.due_at,` : sql``} ${readAt} nulls first, t.parent
    limit ${due.limit}`;
  return rows.map((row) => storedScope(due, row));
}

function storedScope(
  { userId, collection }: Pick<Scope, 'userId' | 'collection'>,
  { parent, ...row }: ScopeRow,
): StoredScope {
  const known = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? undefined]));
  return { scope: { userId, collection, parent }, ...(known as Omit<StoredScope, 'scope'>) };
}

/** Number of a collection's scopes whose last reading failed, and the latest failure. */
export async function failingScopes(db: Db, userId: string, collection: CollectionName) {
  const { rows } = await db.sql<{ latest: string; count: string }>`
    select t.last_error as latest, count(*) over () as count from ${db.stateTable('scope')} as t
    where t._user_id = ${userId}::bigint and t.collection = ${collection} and t.parent <> ''
      and t.gone_at is null and t.last_error is not null
    order by t.last_error_at desc limit 1`;
  return { count: Number(rows[0]?.count ?? 0), latest: rows[0]?.latest };
}

/** A later observation of the scope is already committed: this one must not be applied (invariant 4). */
export class Superseded extends ClassifiedError {
  readonly remedy = 'skip';
}

/**
 * Stores a scope's changes as the last step of a page. An unchanged page writes this row alone.
 * @param place `after`: the last committed observation as this process knows it, compared; `obs`: the number of this
 *   one, set. Undefined: the change rests on no observation
 * @param liveRows number of live rows that the scope has gained
 * @param now by the database's clock
 * @throws Superseded, DatabaseWentBack
 */
export async function saveScope(
  trx: Db,
  scope: Scope,
  change: ScopeChange,
  place: { readonly obs?: number; readonly after: number } | undefined,
  liveRows: number,
  now: Date,
): Promise<void> {
  const set: RawBuilder<unknown>[] = [];
  const assign = (column: string, value: RawBuilder<unknown>): void => {
    set.push(sql`${sql.id(column)} = ${value}`);
  };
  if (change.memory !== undefined) assign('memory', json(change.memory));
  if (change.clearDueUntil !== undefined) {
    const until = sql`${change.clearDueUntil}::timestamptz`;
    // A scope that became due again during the reading is due from then on.
    assign(
      'due_at',
      sql`case when t.last_due_at > ${until} then t.last_due_at when t.due_at <= ${until} then null else t.due_at end`,
    );
  }
  const moments = { last_read_at: change.lastReadAt, polled_at: change.polledAt, full_at: change.fullAt };
  for (const [column, moment] of Object.entries(moments)) {
    if (moment !== undefined) assign(column, sql`${moment}::timestamptz`);
  }
  if (change.completeAsOf !== undefined) {
    assign('complete_as_of', laterOf(sql`t.complete_as_of`, sql`${change.completeAsOf}::timestamptz`, now));
  }
  if (liveRows !== 0) assign('live_rows', sql`t.live_rows + ${liveRows}::bigint`);
  if (change.failure === null) {
    assign('last_error', sql`null`);
    assign('failures', sql`0`);
  } else if (change.failure !== undefined) {
    assign('last_error', sql`${change.failure.message}`);
    assign('last_error_at', sql`${change.failure.at}::timestamptz`);
    assign('failures', sql`t.failures + 1`);
  }
  if (change.fullWalk !== undefined) assign('full_walk', json(change.fullWalk));
  if (place?.obs !== undefined) assign('last_obs', sql`${place.obs}::bigint`);
  if (set.length === 0) return;
  const isNext = place === undefined ? sql`true` : sql`t.last_obs = ${place.after}::bigint`;
  const { rows } = await trx.sql`
    update ${trx.stateTable('scope')} as t set ${sql.join(set)}
    where t._user_id = ${scope.userId}::bigint and ${ofScope('t', scope)} and ${isNext}
    returning t.last_obs`;
  // The scope of a change without an observation may never have been opened.
  if (rows.length === 0 && place !== undefined) await throwUnlessAt(trx, scope, place.after);
}

/**
 * Compares the scope's last committed observation with the one that this process knows. If it is earlier, the database
 * went back; if it is later, another reader was faster or the scope's parent is deleted (delete-rows.ts). An opened
 * scope has a row: what erases rows takes the account first (forget.ts).
 * @throws Superseded, DatabaseWentBack
 */
export async function throwUnlessAt(trx: Db, scope: Scope, after: number): Promise<void> {
  const { rows } = await trx.sql<{ last: string }>`
    select t.last_obs as last from ${trx.stateTable('scope')} as t
    where t._user_id = ${scope.userId}::bigint and ${ofScope('t', scope)}`;
  const last = Number(rows[0]?.last ?? -1);
  if (last === after) return;
  const which = `${scopeName(scope)}: this process committed observation ${after} last`;
  if (last < after) throw new DatabaseWentBack(`${which}, but it is gone`, 'commits');
  throw new Superseded(`${which}, but the last one is now ${last}`);
}

/** JSON, as text first: a driver that encodes strings as JSON would write a JSON string. */
function json(value: unknown): RawBuilder<unknown> {
  return value === null ? sql`null` : sql`${JSON.stringify(value)}::text::jsonb`;
}

/** Makes the scopes of new and changed lists due now; those of undeleted lists are open again. */
export async function markChildrenDue(trx: Db, scope: Scope, keys: readonly string[], at: Date) {
  for (const child of childrenOf(scope.collection)) {
    await trx.sql`
      insert into ${trx.stateTable('scope')} as t (_user_id, collection, parent, due_at, last_due_at)
      select a._user_id, ${child.name}, x.key, ${at}::timestamptz, ${at}::timestamptz
      from ${trx.stateTable('account')} as a cross join unnest(${[...keys]}::text[]) as x (key)
      where a._user_id = ${scope.userId}::bigint
      on conflict (_user_id, collection, parent) do update
      set due_at = least(t.due_at, excluded.due_at), last_due_at = excluded.last_due_at, gone_at = excluded.gone_at`;
  }
}

/** A scope that is complete as of a moment. */
export type CompleteScope = Readonly<{ scope: Scope; completeAsOf: Date }>;

/**
 * The later of two moments: a reading from a cache may be as of an earlier one. A stored moment in the future is
 * ignored, since a clock was ahead.
 * @param now by the database's clock; a parameter (docs/design/sql.md, "Rule 4")
 */
export function laterOf(stored: RawBuilder<unknown>, found: RawBuilder<unknown>, now: Date): RawBuilder<unknown> {
  return sql`greatest(${found}, case when ${stored} <= ${now}::timestamptz then ${stored} end)`;
}

/**
 * Stores the moments that scopes of one account are complete as of, in one statement.
 * @returns the stored moments, which may be later
 */
export async function saveComplete(
  trx: Db,
  userId: string,
  complete: readonly CompleteScope[],
  now: Date,
): Promise<CompleteScope[]> {
  const collections = complete.map(({ scope }) => scope.collection);
  const parents = complete.map(({ scope }) => scope.parent);
  const moments = complete.map(({ completeAsOf }) => completeAsOf);
  const { rows } = await trx.sql<{ collection: CollectionName; parent: string; completeAsOf: Date }>`
    update ${trx.stateTable('scope')} as t set complete_as_of = ${laterOf(sql`t.complete_as_of`, sql`x.moment`, now)}
    from unnest(${collections}::text[], ${parents}::text[], ${moments}::timestamptz[]) as x (collection, parent, moment)
    where t._user_id = ${userId}::bigint and t.collection = x.collection and t.parent = x.parent
    returning t.collection, t.parent, t.complete_as_of as "completeAsOf"`;
  return rows.map(({ completeAsOf, ...row }) => ({ scope: { userId, ...row }, completeAsOf }));
}

/**
 * The moments that all lists of a collection are polled and complete as of: the least over the lists that are not
 * deleted, and not later than the lists' own collection. Undefined if one of them has no such moment yet.
 */
export async function listsAsOf(db: Db, userId: string, lists: ListCollection) {
  const parent = await db.mirror
    .selectFrom('_collections')
    .select(['polled_at as polledAt', 'complete_as_of as completeAsOf'])
    .where('_user_id', '=', userId)
    .where('collection', '=', parentsOf(lists).collection)
    .executeTakeFirst();
  /** The lists themselves are as of `own`, their items as of `least` (undefined: there are no lists). */
  const earliest = async (own: Date | undefined, column: 'polled_at' | 'complete_as_of') => {
    const { least, lacking } = await leastOfScopes(db, userId, lists.name, column);
    if (lacking) return undefined;
    return own === undefined || least === undefined || least > own ? own : least;
  };
  return {
    polledAt: await earliest(parent?.polledAt ?? undefined, 'polled_at'),
    completeAsOf: await earliest(parent?.completeAsOf ?? undefined, 'complete_as_of'),
  };
}

/**
 * The earliest moment of all scopes of a collection whose parents are not deleted.
 * @returns `least`: undefined if no scope has such a moment; `lacking`: a scope has none yet, a parent in quarantine has
 *   no scope, or a deleted scope has live rows (complete_as_of)
 */
export async function leastOfScopes(
  db: Db,
  userId: string,
  name: CollectionName,
  column: 'polled_at' | 'complete_as_of',
) {
  const moment = sql.id('t', column);
  const complete = column === 'complete_as_of';
  const found = collection(name);
  const parents = found.kind === 'list' ? found.parent?.collection : undefined;
  // A parent in quarantine without a row has no scope either, so its items are not read. A parent that the last complete
  // reading did not see is gone.
  const hasUnread =
    parents === undefined
      ? sql`false`
      : sql`exists (
    select from ${db.table('quarantine')} as q
    where q._user_id = ${userId}::bigint and q.collection = ${parents} and q.parent = ''
      and q.key is not null
      and not exists (
        select from ${db.stateTable('scope')} as s
        where s._user_id = ${userId}::bigint and s.collection = ${name} and s.parent = q.key)
      and not exists (
        select from ${db.stateTable('scope')} as p
        where p._user_id = ${userId}::bigint and p.collection = q.collection and p.parent = ''
          and p.full_at - ${`${STAMP_EVERY_MS} ms`}::interval > q.last_seen_at))`;
  const { rows } = await db.sql<{ least: Date | null; lacking: boolean }>`
    select min(${moment}) as least,
      coalesce(bool_or(${moment} is null), false) or ${hasUnread} or ${complete} and exists (
        select from ${db.stateTable('scope')} as o
        where o._user_id = ${userId}::bigint and o.collection = ${name} and o.gone_at is not null and o.live_rows > 0
      ) as lacking
    from ${db.stateTable('scope')} as t
    where t._user_id = ${userId}::bigint and t.collection = ${name} and t.parent <> ''
      and t.gone_at is null`;
  const [row] = rows;
  return { least: row?.least ?? undefined, lacking: row?.lacking ?? false };
}
