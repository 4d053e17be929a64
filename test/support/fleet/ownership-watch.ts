import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';

/**
 * Watches which living daemon owns which account. The caller says which ones live, not their heartbeats: an account has
 * no owner from the moment of a SIGKILL on.
 */
export class OwnershipWatch {
  readonly #ask: () => Promise<pg.QueryResult<{ userId: string; owner: string | null; pid: number | null }>>;
  readonly #lives: (pid: number) => boolean;
  readonly #since = new Map<string, { readonly at: number; readonly afterKill: boolean }>();
  #owned: ReadonlyMap<string, number> = new Map();
  /** Times in which no living daemon owned an account: its owner was killed, or had given it up. */
  readonly gaps: { readonly ms: number; readonly afterKill: boolean }[] = [];
  /** Times at which an account went from one living daemon to another. */
  moves = 0;

  /** @param pool may be away for a while */
  constructor(pool: pg.Pool, lives: (pid: number) => boolean) {
    this.#ask = () =>
      pool.query(
        `select a._user_id::text as "userId", a.owner, p.pid from mirror_sync.account a
         left join mirror_sync.process p on p.process_id = a.owner`,
      );
    this.#lives = lives;
  }

  /** Accounts by the process ID of their owner, where it lives, as of the last look. */
  get owned(): ReadonlyMap<string, number> {
    return this.#owned;
  }

  /** Accounts that each living daemon owns. @param pids of all that live */
  shares(pids: readonly number[]): number[] {
    return pids.map((pid) => [...this.#owned.values()].filter((each) => each === pid).length);
  }

  async run(signal: AbortSignal, everyMs = 50): Promise<void> {
    while (!signal.aborted) {
      const at = performance.now();
      let answer = await this.#ask().catch(() => undefined);
      // An owner may have handed over and ended since the database answered: what it says after that counts.
      if (answer?.rows.some(({ pid }) => pid !== null && !this.#lives(pid))) {
        answer = await this.#ask().catch(() => undefined);
      }
      if (answer !== undefined) this.#see(answer.rows, at);
      await pause(everyMs);
    }
  }

  #see(rows: readonly { userId: string; owner: string | null; pid: number | null }[], at: number): void {
    const owned = new Map<string, number>();
    for (const { userId, owner, pid } of rows) {
      const isOwned = owner !== null && pid !== null && this.#lives(pid);
      const since = this.#since.get(userId);
      if (!isOwned) {
        // Also where the new owner was killed before this watch saw it.
        const afterKill = since?.afterKill === true || owner !== null;
        this.#since.set(userId, { at: since?.at ?? at, afterKill });
        continue;
      }
      owned.set(userId, pid);
      const before = this.#owned.get(userId);
      if (before !== undefined && before !== pid) this.moves += 1;
      if (since === undefined) continue;
      this.gaps.push({ ms: at - since.at, afterKill: since.afterKill });
      this.#since.delete(userId);
    }
    this.#owned = owned;
  }
}
