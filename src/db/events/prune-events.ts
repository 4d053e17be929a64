import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import type { Fence } from '../../model/fence.ts';
import { pruneInBatches } from '../ownership/prune-in-batches.ts';

const BATCH = 5_000;
/** IDs outlive their rows so many times, and for so long at least (ms): a delivery that is repeated late is known. */
const ID_RETENTIONS = 4;
const ID_LEAST_MS = 400 * 86_400_000;

/**
 * Removes an account's events that were received longer than `keepMs` ago, and in time their IDs; a batch at a time.
 * @param signal ends it after the batch in hand; the next call goes on
 */
export async function pruneEvents(db: Db, fence: Fence, keepMs: number, signal: AbortSignal): Promise<void> {
  const seenMs = Math.max(ID_RETENTIONS * keepMs, ID_LEAST_MS);
  await removeOld(db, fence, db.table('events'), keepMs, signal);
  await removeOld(db, fence, db.stateTable('event_seen'), seenMs, signal);
}

async function removeOld(
  db: Db,
  fence: Fence,
  table: ReturnType<typeof sql.id>,
  keepMs: number,
  signal: AbortSignal,
): Promise<void> {
  await pruneInBatches(
    db,
    fence,
    { batch: BATCH, signal },
    (now) => sql`
      delete from ${table} where _user_id = ${fence.userId}::bigint and id in (
        select o.id from ${table} as o
        where o._user_id = ${fence.userId}::bigint and o.received_at < ${new Date(now.getTime() - keepMs)}
        order by o.received_at limit ${BATCH})`,
  );
}
