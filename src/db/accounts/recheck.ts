import type { Db } from '../connection/db.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';
import { commitDurably } from '../connection/durable-commit.ts';
import { fenced } from '../ownership/fenced.ts';

/**
 * Forgets what was learnt, and makes full walks due, where the database went back since the account was last opened:
 * sightings that cleared suspicions, contradictions of an order, used slots may be lost. Rows stay as they are.
 * @returns whether the database went back
 */
export async function recheckIfDue(
  db: Db,
  fence: Fence,
  collections: readonly CollectionName[],
): Promise<boolean> {
  const { userId } = fence;
  return fenced(db, fence, async (trx, now) => {
    const { rows } = await trx.sql<{ due: boolean }>`
      select recheck as due from ${trx.stateTable('account')} where _user_id = ${userId}::bigint`;
    if (rows[0]?.due !== true) return false;
    await commitDurably(trx);
    await trx.sql`delete from ${trx.stateTable('candidate')} where _user_id = ${userId}::bigint`;
    // A known key that has no slots waits until no earlier request can count any more.
    await trx.sql`delete from ${trx.stateTable('slot_block')} where _user_id = ${userId}::bigint`;
    // The page size stays: it is the service's, and without it a list of one row may look incomplete.
    await trx.sql`
      update ${trx.stateTable('scope')} set full_walk = null,
        memory = coalesce(('{"limit":' || (memory #>> '{limit}') || '}')::jsonb, '{}')
      where _user_id = ${userId}::bigint`;
    await trx.sql`
      update ${trx.table('_collections')}
      set held_deletions = 0, waiting_deletions = 0,
        next_full_at = case when collection = any(${[...collections]}::text[]) then ${now}::timestamptz else next_full_at end
      where _user_id = ${userId}::bigint`;
    await trx.sql`update ${trx.stateTable('account')} set recheck = false where _user_id = ${userId}::bigint`;
    return true;
  });
}
