import type { Db } from '../connection/db.ts';
import { LeaseLost } from '../../model/errors.ts';
import type { Fence } from '../../model/fence.ts';
import { fenced } from './fenced.ts';

/**
 * The accounts on which a process works. After the database went back, an account's row may name a process that has
 * given the account up. It lives, so nobody takes the account from it; and it does not work on the account. Or the row
 * names it no more, and the process, which has nothing to write at the moment, would not notice.
 */
export class OwnedAccounts {
  readonly #fences = new Map<string, Fence>();
  readonly #ends = new Map<Fence, () => void>();
  /** By account, the tokens under which a row named the process at the last look while it did not work. */
  #strays = new Map<string, string>();

  /** @param end ends the work on it, so that it is opened again; left out: the work's next write tells it */
  add(fence: Fence, end = (): void => {}): void {
    this.#fences.set(fence.userId, fence);
    this.#ends.set(fence, end);
  }

  remove(fence: Fence): void {
    this.#ends.delete(fence);
    if (this.#fences.get(fence.userId) === fence) this.#fences.delete(fence.userId);
  }

  /** Has the work on all accounts begin again: the clock stepped, which each one's own transaction is to notice. */
  async reopen(db: Db): Promise<void> {
    for (const [fence, end] of this.#ends) {
      await fenced(db, fence, () => Promise.resolve()).catch((error: unknown) => {
        if (!(error instanceof LeaseLost)) throw error;
      });
      end();
    }
  }

  /**
   * Gives up accounts whose row names the process while it does not work on them: in two looks in a row, since an
   * account that it has just taken may not be known here yet. And ends the work on those whose row names it no more.
   * @returns the accounts that were given up
   */
  async releaseStrays(db: Db, processId: string): Promise<string[]> {
    const worked = [...this.#ends];
    const own = db.state.selectFrom('account').select(['_user_id as userId', 'token']);
    const rows = await own.where('owner', '=', processId).execute();
    const owned = new Set(rows.map(named));
    for (const [fence, end] of worked) if (!owned.has(named(fence))) end();
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
      update ${db.stateTable('account')} set owner = null
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
