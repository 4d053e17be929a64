import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import type { Fence } from '../../model/fence.ts';
import { pruneInBatches } from '../ownership/prune-in-batches.ts';

/** IDs stay so many times longer than their rows, and for so long at least (ms): a late repetition is recognized. */
const ID_RETENTIONS = 4;
const ID_LEAST_MS = 400 * 86_400_000;

/**
 * Removes an account's events that were received more than `keepMs` ago, and later their IDs, a batch at a time.
 * @param signal ends it after the current batch; the next call goes on
 */
export async function pruneEvents(db: Db, fence: Fence, keepMs: number, signal: AbortSignal): Promise<void> {
  const seenMs = Math.max(ID_RETENTIONS * keepMs, ID_LEAST_MS);
  for (const [table, ms] of [
    [db.table('events'), keepMs],
    [db.stateTable('event_seen'), seenMs],
  ] as const) {
    const rows = { table, key: 'id' };
    await pruneInBatches(
      db,
      fence,
      rows,
      signal,
      (before) => sql`received_at < ${before(ms)} order by received_at`,
    );
  }
}
