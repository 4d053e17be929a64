import { type Kysely, sql } from 'kysely';
import { fenced } from '../db/fenced.ts';
import type { Fence } from '../model/fence.ts';
import { beside } from './table.ts';

/** Polls of one list that found nothing are told for a day (ms): there may be fifty a minute. */
const QUIET_LIST_MS = 86_400_000;
/** Rows removed in one transaction, so that it stays short. */
const BATCH = 5_000;

/** Removes the account's rows of `sync_log` that are older than `keepMs`, a batch at a time. */
export async function pruneLog(
  db: Kysely<unknown>,
  schema: string,
  fence: Fence,
  keepMs: number,
): Promise<void> {
  let removed: number;
  do {
    removed = await fenced(db, schema, fence, async (trx, now) => {
      const { numAffectedRows } = await sql`
        delete from ${beside(schema, 'sync_log')} where _user_id = ${fence.userId}::bigint and walk_id in (
          select walk_id from ${beside(schema, 'sync_log')}
          where _user_id = ${fence.userId}::bigint and started_at < ${new Date(now.getTime() - Math.min(keepMs, QUIET_LIST_MS))}
            and (started_at < ${new Date(now.getTime() - keepMs)}
              or list_id is not null and inserted + updated + deleted + quarantined = 0 and error is null)
          limit ${BATCH})`.execute(trx);
      return Number(numAffectedRows ?? 0);
    });
  } while (removed === BATCH);
}
