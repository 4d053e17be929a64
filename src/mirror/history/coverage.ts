import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { fenced } from '../../db/ownership/fenced.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';

/**
 * Notes since when each of the account's collections is mirrored, and since when every superseded version of it is
 * kept: `<table>_as_of` answers from then on. To be called before the account's first page.
 * A collection whose beginning is not known counts as mirrored always: then `as_of` refuses rather than guesses.
 * @param kept MIRROR_HISTORY is on for this process
 */
export async function openHistory(
  db: Db,
  fence: Fence,
  collections: readonly CollectionName[],
  kept: boolean,
): Promise<void> {
  await fenced(db, fence, async (trx, now) => {
    const since = kept ? sql`${now}::timestamptz` : sql`null::timestamptz`;
    await trx.sql`
      insert into ${trx.table('_collections')} as c (_user_id, collection, mirrored_from, history_from)
      select a._user_id, x.collection, ${now}::timestamptz, ${since}
      from ${trx.stateTable('account')} as a cross join unnest(${[...collections]}::text[]) as x (collection)
      where a._user_id = ${fence.userId}::bigint
      on conflict (_user_id, collection) do update
      set mirrored_from = coalesce(c.mirrored_from, '-infinity'),
        history_from = case when ${kept} then coalesce(c.history_from, excluded.history_from) end
      where c.mirrored_from is null or (c.history_from is not null) <> ${kept}`;
  });
}
