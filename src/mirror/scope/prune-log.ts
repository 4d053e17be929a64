import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { pruneInBatches } from '../../db/ownership/prune-in-batches.ts';
import type { Fence } from '../../model/fence.ts';

/** How long polls of one list that found nothing are kept (ms): there may be fifty a minute. */
const QUIET_LIST_MS = 86_400_000;

/**
 * Removes the account's rows of `sync_log` that are older than `keepMs`, a batch at a time.
 * @param signal ends it after the batch in hand; the next call goes on
 */
export async function pruneLog(db: Db, fence: Fence, keepMs: number, signal: AbortSignal): Promise<void> {
  const rows = { table: db.table('sync_log'), key: 'walk_id' };
  await pruneInBatches(
    db,
    fence,
    rows,
    signal,
    (
      before,
    ) => sql`started_at < ${before(Math.min(keepMs, QUIET_LIST_MS))} and (started_at < ${before(keepMs)}
      or list_id is not null and inserted + updated + deleted + quarantined = 0 and error is null)`,
  );
}
