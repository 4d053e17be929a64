import { sql, type Kysely, type Transaction } from 'kysely';
import { LeaseLost } from '../model/errors.ts';
import type { Fence } from '../model/fence.ts';

/**
 * Runs `work` in a transaction that may write for the fence's account (invariant 9): its first statement locks the
 * account's row under this owner and token, and tells the database's time. A takeover waits for the lock, or has
 * happened and leaves no row; a plain check, or one inside a later statement, lets a stale owner commit
 * (test/integration/lease.test.ts). The transaction's bounds (database.ts) end an owner that hangs.
 * Round trips: begin, fence, commit, and those of `work`.
 * @param work gets the transaction and the time, by the database's clock
 * @throws LeaseLost, nothing written; DatabaseUnavailable, when the outcome of the commit may be unknown; errors of `work`
 */
export async function fenced<T>(
  db: Kysely<unknown>,
  schema: string,
  fence: Fence,
  work: (trx: Transaction<unknown>, now: Date) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ now: Date }>`
      select clock_timestamp() as now from ${sql.id(`${schema}_sync`, 'account')}
      where _user_id = ${fence.userId} and owner = ${fence.owner} and token = ${fence.token}
      for no key update`.execute(trx);
    const now = rows[0]?.now;
    if (now === undefined) {
      throw new LeaseLost(
        `account ${fence.userId} has another owner now: this process writes nothing more for it`,
      );
    }
    return work(trx, now);
  });
}
