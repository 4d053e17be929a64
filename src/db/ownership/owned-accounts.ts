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
    for (const [processId, fences] of Map.groupBy(this.#fences.values(), ({ owner }) => owner)) {
      await db.sql`
        update ${db.stateTable('account')} set owner = null, token = token + 1
        where _user_id = any(${fences.map(({ userId }) => userId)}::bigint[]) and owner = ${processId}
          and _user_id::text || ' ' || token::text = any(${fences.map(named)}::text[])`;
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
    const still = [...this.#strays].flatMap(([userId, token]) =>
      before.get(userId) === token ? [{ userId, token }] : [],
    );
    if (still.length === 0) return [];
    // One statement for all of them: the next heartbeat waits for it.
    const released = await db.sql<{ userId: string }>`
      update ${table} set owner = null
      where _user_id = any(${still.map(({ userId }) => userId)}::bigint[]) and owner = ${processId}
        and _user_id::text || ' ' || token::text = any(${still.map(named)}::text[])
      returning _user_id as "userId"`;
    return released.rows.map((row) => row.userId);
  }
}

/** An account under a token, as one text: an array has them in a condition that is the same on each node. */
function named({ userId, token }: Pick<Fence, 'userId' | 'token'>): string {
  return `${userId} ${token}`;
}
