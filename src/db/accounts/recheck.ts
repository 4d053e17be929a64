import type { Db } from '../connection/db.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';
import { commitDurably } from '../connection/durable-commit.ts';
import { fenced } from '../ownership/fenced.ts';

/**
 * Where the database went back since the account was last opened, what was learnt before proves nothing: a sighting that
 * withdrew a suspicion, a contradiction that withdrew the trust in an order, slots of the rate limit that were used may
 * be lost. All of it is forgotten, and full walks are due: rows stay as they are until then.
 * @returns whether there was reason to
 */
export async function recheckIfDue(
  db: Db,
  fence: Fence,
  collections: readonly CollectionName[],
): Promise<boolean> {
  const { userId } = fence;
  const own = (table: string) => db.stateTable(table);
  return fenced(db, fence, async (trx, now) => {
    const { rows } = await trx.sql<{ due: boolean }>`
      select recheck as due from ${own('account')} where _user_id = ${userId}::bigint`;
    if (rows[0]?.due !== true) return false;
    await commitDurably(trx);
    await trx.sql`delete from ${own('candidate')} where _user_id = ${userId}::bigint`;
    // A known key without slots waits until nothing that may have been sent counts any more.
    await trx.sql`delete from ${own('slot_block')} where _user_id = ${userId}::bigint`;
    // How many items the service gives at a time is of the service: without it a list of one row may look unfinished.
    await trx.sql`
      update ${own('scope')} set full_walk = null,
        memory = coalesce(('{"limit":' || (memory #>> '{limit}') || '}')::jsonb, '{}')
      where _user_id = ${userId}::bigint`;
    await trx.sql`
      update ${trx.table('_collections')}
      set held_deletions = 0, waiting_deletions = 0,
        next_full_at = case when collection = any(${[...collections]}::text[]) then ${now}::timestamptz else next_full_at end
      where _user_id = ${userId}::bigint`;
    await trx.sql`update ${own('account')} set recheck = false where _user_id = ${userId}::bigint`;
    return true;
  });
}
