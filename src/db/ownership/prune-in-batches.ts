import type { Db } from '../connection/db.ts';
import type { RawBuilder } from 'kysely';
import type { Fence } from '../../model/fence.ts';
import { fenced } from './fenced.ts';

export interface PruneOptions {
  /** Rows that one statement removes at most. */
  readonly batch: number;
  /** Ends it after the batch in hand, or a stop would wait for all of them; the next call goes on. */
  readonly signal: AbortSignal;
}

/**
 * Removes rows of an account, a batch in each transaction, so that all of them stay short.
 * @param removal the statement for one batch; gets the database's time
 */
export async function pruneInBatches(
  db: Db,
  fence: Fence,
  { batch, signal }: PruneOptions,
  removal: (now: Date) => RawBuilder<unknown>,
): Promise<void> {
  const removeBatch = (): Promise<number> =>
    fenced(db, fence, async (trx, now) => {
      const { numAffectedRows } = await removal(now).execute(trx);
      return Number(numAffectedRows ?? 0);
    });
  let removed: number;
  do {
    if (signal.aborted) return;
    removed = await removeBatch();
  } while (removed === batch);
}
