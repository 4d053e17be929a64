import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { CollectionName, Scope } from '../../model/collections.ts';

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
