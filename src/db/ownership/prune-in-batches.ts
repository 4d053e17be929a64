import { type RawBuilder, sql } from 'kysely';
import type { Fence } from '../../model/fence.ts';
import type { Db } from '../connection/db.ts';
import { fenced } from './fenced.ts';

/** Rows that one transaction removes at most, so that it stays short. */
const BATCH = 5_000;

/**
 * Removes old rows of the account, a batch in each transaction.
 * @param rows the table, and the column that tells an account's rows apart
 * @param signal ends it after the current batch, so that a stop need not wait for all of them; the next call goes on
 * @param isOld the condition, and the order in which rows go; gets the moment so many milliseconds ago
 */
export async function pruneInBatches(
  db: Db,
  fence: Fence,
  { table, key }: { readonly table: RawBuilder<unknown>; readonly key: string },
  signal: AbortSignal,
  isOld: (before: (ms: number) => Date) => RawBuilder<unknown>,
): Promise<void> {
  let removed = BATCH;
  while (removed === BATCH && !signal.aborted) {
    removed = await fenced(db, fence, async (trx, now) => {
      const { numAffectedRows } = await trx.sql`
        delete from ${table} where _user_id = ${fence.userId}::bigint and ${sql.id(key)} in (
          select ${sql.id(key)} from ${table}
          where _user_id = ${fence.userId}::bigint and ${isOld((ms) => new Date(now.getTime() - ms))}
          limit ${BATCH})`;
      return Number(numAffectedRows ?? 0);
    });
  }
}
