import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { CollectionName, Scope } from '../../model/collections.ts';

/** A scope of which everything is mirrored as of a moment. */
export interface CompleteScope {
  readonly scope: Scope;
  readonly completeAsOf: Date;
}

/**
 * What was complete as of a moment stays so, also where a later reading knows only of an earlier one (a cache on the way
 * answered it). A moment in the future is one of a clock that was ahead.
 */
export function laterOf(stored: RawBuilder<unknown>, found: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`greatest(${found}, case when ${stored} <= now() then ${stored} end)`;
}

/**
 * Stores as of when scopes of one account are complete. One statement for all: ten thousand lists cost no more than one.
 * @returns as of when they are by now: something later may be stored
 */
export async function saveComplete(
  trx: Db,
  userId: string,
  complete: readonly CompleteScope[],
): Promise<CompleteScope[]> {
  const collections = complete.map(({ scope }) => scope.collection);
  const parents = complete.map(({ scope }) => scope.parent);
  const moments = complete.map(({ completeAsOf }) => completeAsOf);
  const { rows } = await sql<{ collection: CollectionName; parent: string; complete_as_of: Date }>`
    update ${trx.stateTable('scope')} as t set complete_as_of = ${laterOf(sql`t.complete_as_of`, sql`x.moment`)}
    from unnest(${collections}::text[], ${parents}::text[], ${moments}::timestamptz[]) as x (collection, parent, moment)
    where t._user_id = ${userId}::bigint and t.collection = x.collection and t.parent = x.parent
    returning t.collection, t.parent, t.complete_as_of`.execute(trx);
  return rows.map(({ collection, parent, complete_as_of: completeAsOf }) => ({
    scope: { userId, collection, parent },
    completeAsOf,
  }));
}
