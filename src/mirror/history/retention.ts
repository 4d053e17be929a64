import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { fenced } from '../../db/ownership/fenced.ts';
import { COLLECTION_NAMES } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';
import { dataTable, type Table, tableOf } from '../table.ts';

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
