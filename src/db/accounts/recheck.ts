import type { Db } from '../connection/db.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';
import { commitDurably } from '../connection/durable-commit.ts';
import { fenced } from '../ownership/fenced.ts';

/**
 * Where the database went back since the account was last opened, nothing that was learnt before proves anything: a
 * sighting that withdrew a suspicion, a contradiction that withdrew the trust in an order, or slots of the rate limit
 * that were used may be lost. All of it is forgotten and full walks are due; until then the rows stay as they are.
 * @returns whether it was due
 */
export async function recheckIfDue(
  db: Db,
  fence: Fence,
  collections: readonly CollectionName[],
): Promise<boolean> {
  const { userId } = fence;
  return fenced(db, fence, async (trx, now) => {
    const account = trx.stateTable('account');
    const { rows } = await trx.sql<{ due: boolean }>`
      select recheck as due from ${account} where _user_id = ${userId}::bigint`;
    if (rows[0]?.due !== true) return false;
    await commitDurably(trx);
    await forgetConclusions(trx, userId);
    // A known key without slots waits until nothing that may have been sent counts any more.
    await trx.sql`delete from ${trx.stateTable('slot_block')} where _user_id = ${userId}::bigint`;
    // The service's page size stays: without it a list of one row may look unfinished.
    await trx.sql`
      update ${trx.stateTable('scope')} set full_walk = null,
        memory = coalesce(('{"limit":' || (memory #>> '{limit}') || '}')::jsonb, '{}')
      where _user_id = ${userId}::bigint`;
    await trx.sql`
      update ${trx.table('_collections')} set next_full_at = ${now}::timestamptz
      where _user_id = ${userId}::bigint and collection = any(${[...collections]}::text[])`;
    await trx.sql`update ${account} set recheck = false where _user_id = ${userId}::bigint`;
    return true;
  });
}

/** Forgets the account's suspected deletions: they may rest on another account's answers. Rows stay as they are. */
export async function forgetConclusions(trx: Db, userId: string): Promise<void> {
  await trx.sql`delete from ${trx.stateTable('candidate')} where _user_id = ${userId}::bigint`;
  await trx.sql`
    update ${trx.table('_collections')} set held_deletions = 0, waiting_deletions = 0
    where _user_id = ${userId}::bigint and held_deletions + waiting_deletions > 0`;
}

/**
 * Besides, forgets how far each list was read and what is known of its order: a frontier or a cursor of another
 * account would lead past rows of this one. Full walks are due.
 * @param now the database's time
 */
export async function forgetReadings(trx: Db, userId: string, now: Date): Promise<void> {
  await forgetConclusions(trx, userId);
  await trx.sql`
    update ${trx.stateTable('scope')} set memory = '{}', full_walk = null
    where _user_id = ${userId}::bigint`;
  await trx.sql`
    update ${trx.table('_collections')} set next_full_at = ${now}::timestamptz
    where _user_id = ${userId}::bigint`;
}
