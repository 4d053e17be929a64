import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { CollectionName, Scope } from '../../model/collections.ts';
import { STAMP_EVERY_MS } from './plan.ts';
import { dataTable, inScope, ofScope, type Table, tableOf } from '../table.ts';

/** A quarantined item that may be written again. */
export interface QuarantinedItem {
  /** Of its text, hexadecimal. */
  readonly hash: string;
  readonly source: string;
  /** When the item was last seen, at most an hour before it really was. */
  readonly lastSeenAt: Date;
  /** Why it must not be written again; null: it may be. */
  readonly passed: PassedOver | null;
}

/**
 * - `deleted`: the row was deleted after the item was last seen
 * - `unseen`: the last complete reading of its scope did not see it: it is gone or has changed
 * - `unkept`: its text is not kept
 */
export type PassedOver = 'deleted' | 'unseen' | 'unkept';

/** The account's scopes of these collections that have items in quarantine. */
export async function quarantinedScopes(
  db: Db,
  userId: string,
  collections: readonly CollectionName[],
): Promise<Scope[]> {
  const { rows } = await db.sql<{ collection: CollectionName; parent: string }>`
    select distinct q.collection, q.parent from ${db.table('quarantine')} as q
    where q._user_id = ${userId}::bigint and q.collection = any(${[...collections]}::text[])
    order by q.collection, q.parent`;
  return rows.map(({ collection, parent }) => ({ userId, collection, parent }));
}

/**
 * The scope's quarantined items in the order of their hashes. Each is the newest that is known of its key, since an
 * item that can be mirrored removes all of them.
 * @param after hash of the last one before; '' for the first ones
 */
export async function quarantinedItems(
  db: Db,
  scope: Scope,
  after: string,
  limit: number,
): Promise<QuarantinedItem[]> {
  const { rows } = await db.sql<QuarantinedItem>`
    select encode(q.item_hash, 'hex') as hash, q.item as source, q.last_seen_at as "lastSeenAt",
      case
        when ${deletedSince(tableOf(db.schema, scope.collection), scope)} then 'deleted'
        when s.full_at - ${`${STAMP_EVERY_MS} ms`}::interval > q.last_seen_at then 'unseen'
        when not q.kept then 'unkept'
      end as passed
    from ${db.table('quarantine')} as q
    left join ${db.stateTable('scope')} as s
      on s._user_id = q._user_id and s.collection = q.collection and s.parent = q.parent
    where q._user_id = ${scope.userId}::bigint and ${ofScope('q', scope)} and q.item_hash > decode(${after}, 'hex')
    order by q.item_hash limit ${limit}`;
  return rows;
}

/** Why the items, by their hashes, are in quarantine now: to follow "the item …". */
export async function reasonsOf(
  db: Db,
  scope: Scope,
  hashes: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await db.sql<{ hash: string; reason: string }>`
    select x.hash, q.reason from unnest(${[...hashes]}::text[]) as x (hash)
    join ${db.table('quarantine')} as q on q._user_id = ${scope.userId}::bigint and ${ofScope('q', scope)}
      and q.item_hash = decode(x.hash, 'hex')`;
  return new Map(rows.map(({ hash, reason }) => [hash, reason]));
}

function deletedSince(table: Table, scope: Scope): RawBuilder<unknown> {
  if (table.key === undefined) return sql`false`;
  const key =
    table.key.type === 'bigint'
      ? sql`case when q.key ~ '^-?[0-9]{1,19}$' then q.key::bigint end`
      : sql`q.key`;
  return sql`exists (
    select from ${dataTable(table)} as t
    where ${inScope(table, scope)} and t.${sql.id(table.key.column)} = ${key} and t._deleted_at > q.last_seen_at)`;
}
