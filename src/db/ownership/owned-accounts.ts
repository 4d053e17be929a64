import type { Db } from '../connection/db.ts';
import type { Fence } from '../../model/fence.ts';

/**
 * The accounts that a process works on. Where the database goes back, an account's row may name a process again that
 * has given it up: it lives, so nobody takes the account from it, and does not work on it.
 */
export class OwnedAccounts {
  readonly #fences = new Map<string, Fence>();
  /** Tokens, by account, under which the process was named at the last look, and did not work. */
  #strays = new Map<string, string>();

  add(fence: Fence): void {
    this.#fences.set(fence.userId, fence);
  }

  remove(fence: Fence): void {
    if (this.#fences.get(fence.userId) === fence) this.#fences.delete(fence.userId);
  }

  /** Has this process open all its accounts anew: what it wrote for them so far is as it is. */
  async reopen(db: Db): Promise<void> {
    for (const { userId, owner, token } of this.#fences.values()) {
      await db.sql`
        update ${db.stateTable('account')} set owner = null, token = token + 1
        where _user_id = ${userId}::bigint and owner = ${owner} and token = ${token}::bigint`;
    }
  }

  /**
   * Gives up accounts that name the process while it does not work on them. What it has just taken is not known here yet:
   * the second look in a row decides.
   * @returns the accounts
   */
  async releaseStrays(db: Db, processId: string): Promise<string[]> {
    const table = db.stateTable('account');
    const { rows } = await db.sql<{ userId: string; token: string }>`
      select _user_id as "userId", token from ${table} where owner = ${processId}`;
    const before = this.#strays;
    this.#strays = new Map(
      rows
        .filter(({ userId, token }) => this.#fences.get(userId)?.token !== token)
        .map(({ userId, token }) => [userId, token]),
    );
    const released: string[] = [];
    for (const [userId, token] of this.#strays) {
      if (before.get(userId) !== token) continue;
      await db.sql`
        update ${table} set owner = null
        where _user_id = ${userId}::bigint and owner = ${processId} and token = ${token}::bigint`;
      released.push(userId);
    }
    return released;
  }
}
