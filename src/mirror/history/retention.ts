import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { fenced } from '../../db/ownership/fenced.ts';
import { COLLECTION_NAMES, type CollectionName } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';
import { dataTable, type Table, tableOf } from '../table.ts';

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

/** Versions removed in one transaction, so that it stays short. */
const BATCH = 5_000;

/**
 * Removes the account's versions that were superseded more than `keepMs` ago (MIRROR_HISTORY=400d), a batch at a
 * time. First `history_from` moves: no reader is told that the history of a moment is complete while some of it is
 * gone.
 * @param signal ends it after the batch in hand; the next call goes on
 */
export async function pruneHistory(db: Db, fence: Fence, keepMs: number, signal: AbortSignal): Promise<void> {
  const before = await fenced(db, fence, async (trx, now) => {
    const moment = new Date(now.getTime() - keepMs);
    await trx.sql`
      update ${trx.table('_collections')} set history_from = ${moment}::timestamptz
      where _user_id = ${fence.userId}::bigint and history_from < ${moment}::timestamptz`;
    return moment;
  });
  for (const name of COLLECTION_NAMES) {
    while (!signal.aborted && (await pruneBatch(db, fence, tableOf(db.schema, name), before)));
  }
}

/** @returns true while there may be more to remove */
async function pruneBatch(db: Db, fence: Fence, table: Table, before: Date): Promise<boolean> {
  return fenced(db, fence, async (trx) => {
    const old = sql`_valid_to <= ${before}::timestamptz`;
    // As text: a Date has no microseconds.
    const { rows } = await trx.sql<{ moment: string; id: string }>`
      select _valid_to::text as moment, _change_id as id from ${dataTable(table, '_history')}
      where _user_id = ${fence.userId}::bigint and ${old}
      order by _valid_to, _change_id offset ${BATCH - 1} limit 1`;
    const [last] = rows;
    const some = last && sql`(_valid_to, _change_id) <= (${last.moment}::timestamptz, ${last.id}::bigint)`;
    await trx.sql`
      delete from ${dataTable(table, '_history')}
      where _user_id = ${fence.userId}::bigint and ${some ?? old}`;
    return last !== undefined;
  });
}
