import { sql } from 'kysely';
import type { CollectionName } from '../model/collections.ts';
import type { Executor } from './executor.ts';
import { own } from './table.ts';

/** A scope of which everything is mirrored as of a moment. */
export interface CompleteScope {
  readonly collection: CollectionName;
  readonly parent: string;
  readonly completeAsOf: Date;
}

/**
 * Makes true what pages said that were stored before `until`, if they were the account's own: everything of their scopes
 * is mirrored as of then. One statement for all of them: ten thousand lists cost no more than one.
 */
export async function promoteComplete(
  trx: Executor,
  schema: string,
  userId: string,
  until: Date,
): Promise<CompleteScope[]> {
  const { rows } = await sql<{ collection: CollectionName; parent: string; complete_as_of: Date }>`
    update ${own(schema, 'scope')} as t
    set complete_as_of = t.unproven_complete_as_of, unproven_complete_as_of = null, unproven_at = null
    where t._user_id = ${userId}::bigint and t.unproven_at <= ${until}::timestamptz
    returning t.collection, t.parent, t.complete_as_of`.execute(trx);
  return rows.map(({ collection, parent, complete_as_of: completeAsOf }) => ({
    collection,
    parent,
    completeAsOf,
  }));
}
