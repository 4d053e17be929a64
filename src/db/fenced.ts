import { sql, type Kysely, type Transaction } from 'kysely';
import { LeaseLost } from '../model/errors.ts';
import type { Fence } from '../model/fence.ts';
import { Mutex } from '../runtime/mutex.ts';

/**
 * Where an owner's transactions stand in line. The lock on the account's row lets one go at a time anyway; without a
 * line before it they would wait for it in Postgres, on a connection each and against the bound on a statement, which
 * several pages of megabytes reach together.
 */
const lines = new WeakMap<Fence, Mutex>();

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
  const line = lines.get(fence) ?? new Mutex();
  lines.set(fence, line);
  return line.run(() => inTransaction(db, schema, fence, work));
}

function inTransaction<T>(
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
