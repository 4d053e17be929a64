import type { Db } from '../connection/db.ts';
import type { Fence } from '../../model/fence.ts';

/**
 * The accounts on which a process works. After the database went back, an account's row may name a process that has
 * given the account up. It lives, so nobody takes the account from it; and it does not work on the account.
 */
export class OwnedAccounts {
  readonly #fences = new Map<string, Fence>();
  /** By account, the tokens under which a row named the process at the last look while it did not work. */
  #strays = new Map<string, string>();

  add(fence: Fence): void {
    this.#fences.set(fence.userId, fence);
  }

  remove(fence: Fence): void {
    if (this.#fences.get(fence.userId) === fence) this.#fences.delete(fence.userId);
  }

  /** Makes this process open all its accounts again: they lose their owner. */
  async reopen(db: Db): Promise<void> {
    for (const { userId, owner, token } of this.#fences.values()) {
      await db.sql`
        update ${db.stateTable('account')} set owner = null, token = token + 1
        where _user_id = ${userId}::bigint and owner = ${owner} and token = ${token}::bigint`;
    }
  }

  /**
   * Gives up accounts whose row names the process while it does not work on them: in two looks in a row, since an
   * account that it has just taken may not be known here yet.
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
