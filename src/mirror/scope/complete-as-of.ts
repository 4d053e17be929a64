import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import {
  type CollectionName,
  type Scope,
  collection,
  type ListCollection,
  parentsOf,
} from '../../model/collections.ts';
import { STAMP_EVERY_MS } from '../quarantine/plan.ts';

/** A scope of which everything is mirrored as of a moment. */
export interface CompleteScope {
  readonly scope: Scope;
  readonly completeAsOf: Date;
}

/**
 * The later moment counts: a reading that an intermediate cache answered may know of an earlier one only. A stored
 * moment in the future does not count: a clock was ahead.
 * @param now by the database's clock; a parameter (docs/design/sql.md, "Rule 4")
 */
export function laterOf(
  stored: RawBuilder<unknown>,
  found: RawBuilder<unknown>,
  now: Date,
): RawBuilder<unknown> {
  return sql`greatest(${found}, case when ${stored} <= ${now}::timestamptz then ${stored} end)`;
}

/**
 * Stores as of when scopes of one account are complete, all in one statement.
 * @returns what is stored now, which may be later
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
 * As of when the new and unfinished rows of all lists of a collection are mirrored, and everything, deletions included:
 * the least over the lists that are not deleted, and not later than their own collection. Undefined where one of them has
 * no such moment yet.
 */
export async function listsAsOf(
  db: Db,
  userId: string,
  lists: ListCollection,
): Promise<Readonly<Record<'polledAt' | 'completeAsOf', Date | undefined>>> {
  const parent = await db.mirror
    .selectFrom('_collections')
    .select(['polled_at as polledAt', 'complete_as_of as completeAsOf'])
    .where('_user_id', '=', userId)
    .where('collection', '=', parentsOf(lists).collection)
    .executeTakeFirst();
  const polled = await leastOfScopes(db, userId, lists.name, 'polled_at');
  const complete = await leastOfScopes(db, userId, lists.name, 'complete_as_of');
  return {
    polledAt: earlier(parent?.polledAt ?? undefined, polled),
    completeAsOf: earlier(parent?.completeAsOf ?? undefined, complete),
  };
}

/** The lists themselves are mirrored as of `parents`, their items as of `least` (undefined: there are no lists). */
function earlier(parents: Date | undefined, { least, lacking }: LeastOfScopes): Date | undefined {
  if (lacking) return undefined;
  return parents === undefined || least === undefined || least > parents ? parents : least;
}

interface LeastOfScopes {
  /** Undefined where no scope has such a moment. */
  readonly least: Date | undefined;
  /** A scope has none so far, a parent in quarantine has no scope, or rows of one that is gone are live (complete_as_of). */
  readonly lacking: boolean;
}

/** The earliest moment of all scopes of a collection whose parents are not deleted. */
export async function leastOfScopes(
  db: Db,
  userId: string,
  name: CollectionName,
  column: 'polled_at' | 'complete_as_of',
): Promise<LeastOfScopes> {
  const moment = sql.id('t', column);
  const complete = column === 'complete_as_of';
  const { rows } = await db.sql<{ least: Date | null; lacking: boolean }>`
    select min(${moment}) as least,
      coalesce(bool_or(${moment} is null), false) or ${hasUnread(db, userId, name)} or ${complete} and exists (
        select from ${db.stateTable('scope')} as o
        where o._user_id = ${userId}::bigint and o.collection = ${name} and o.gone_at is not null and o.live_rows > 0
      ) as lacking
    from ${db.stateTable('scope')} as t
    where t._user_id = ${userId}::bigint and t.collection = ${name} and t.parent <> ''
      and t.gone_at is null`;
  const [row] = rows;
  return { least: row?.least ?? undefined, lacking: row?.lacking ?? false };
}

/**
 * Whether a parent is in quarantine and has no row. It has no scope either, so its items are not read. (A parent that
 * the last complete reading did not see is gone.)
 */
function hasUnread(db: Db, userId: string, name: CollectionName): RawBuilder<boolean> {
  const found = collection(name);
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
