import type { Clock } from '@research-mirror/runtime/clock';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { Db } from '../../db/connection/db.ts';
import { sqlState } from '../../db/connection/sql-state.ts';
import { type LockHolder, lockHolders } from '../../db/distribution/lock-holders.ts';

/** What is locked, how strongly, and what follows where that can't be. */
export interface Locked {
  readonly tables: readonly string[];
  readonly lock: 'exclusive' | 'access exclusive';
  /** Ends a message. */
  readonly otherwise: string;
}

/** How long each attempt waits for a table: the daemon's writes wait behind it. */
export const TABLE_WAIT = '2s';
const MAX_ATTEMPTS = 20;
/** Milliseconds after the first attempt, longer after each further one, up to ten times as long. */
const BACK_OFF = 250;
/** A transaction that is seen in two looks so far apart is a long one. Milliseconds; a page takes less. */
const LOOK = 1_000;
const MOST_LOOKS = 100;
/** 55P03: a lock was not free in time. 40P01: a deadlock. */
const WORTH_ANOTHER = new Set(['55P03', '40P01']);

interface Context {
  readonly db: Db;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Hears for whom it waits. */
  readonly onStep: (words: string) => void;
}

/**
 * Transactions that lock tables which others write. Whoever waits for a lock stops all who come later: so the end of a
 * long transaction is awaited without one, and between two attempts others have as much time as they waited.
 */
export class TableLocks {
  readonly #context: Context;
  #waitedMs = 0;
  #attempts = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  /** For how long others had to wait, all attempts together. Milliseconds. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** In how many attempts they had to. */
  get attempts(): number {
    return this.#attempts;
  }

  /**
   * Does `work` in a transaction, as often as it takes.
   * @param work calls `locking` before its first lock that others wait behind
   * @throws DatabaseUnavailable where somebody has what is to be locked for good; errors of `work`; the signal's reason
   */
  async repeat<T>(locked: Locked, work: (trx: Db, locking: () => void) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      await this.#untilFree(locked);
      const before = this.#waitedMs;
      try {
        return await this.#once(work);
      } catch (error) {
        if (!isLocked(error)) throw error;
        if (attempt === MAX_ATTEMPTS) throw unavailable('', locked, error);
        await this.#backOff(attempt, before);
      }
    }
  }

  /**
   * Does `work` for each table that nobody has for long, in a transaction each, and comes back to the others.
   * @returns those that somebody has for good
   */
  async each(
    tables: readonly string[],
    work: (trx: Db, table: string) => Promise<void>,
  ): Promise<readonly string[]> {
    let left = tables;
    for (let round = 1; left.length > 0; round += 1) {
      const held = new Set(
        (await this.#longHolders(left, 'access exclusive')).flatMap((each) => each.tables),
      );
      const before = this.#waitedMs;
      const again: string[] = [];
      for (const table of left) {
        if (held.has(table) || !(await this.#tried(table, work))) again.push(table);
      }
      left = again;
      if (round === MAX_ATTEMPTS) break;
      if (left.length > 0) await this.#backOff(round, before);
    }
    return left;
  }

  /** Leaves others as much time as they have waited since `before`, and more after each further attempt. */
  #backOff(attempt: number, before: number): Promise<void> {
    const { clock, signal } = this.#context;
    return clock.sleep(Math.max(BACK_OFF * Math.min(attempt, 10), this.#waitedMs - before), signal);
  }

  async #tried(table: string, work: (trx: Db, table: string) => Promise<void>): Promise<boolean> {
    try {
      await this.#once((trx, locking) => {
        locking();
        return work(trx, table);
      });
      return true;
    } catch (error) {
      if (!isLocked(error)) throw error;
      return false;
    }
  }

  async #once<T>(work: (trx: Db, locking: () => void) => Promise<T>): Promise<T> {
    const { db, clock, signal } = this.#context;
    signal.throwIfAborted();
    let from: number | undefined;
    try {
      return await db.transaction((trx) =>
        work(trx, () => {
          from ??= clock.monotonic();
        }),
      );
    } finally {
      if (from !== undefined) {
        this.#waitedMs += clock.monotonic() - from;
        this.#attempts += 1;
      }
    }
  }

  /** Resolves once no long transaction has what is to be locked: others go on meanwhile. */
  async #untilFree(locked: Locked): Promise<void> {
    let said = '';
    for (let look = 1; ; look += 1) {
      const long = await this.#longHolders(locked.tables, locked.lock);
      if (long.length === 0) return;
      const who = long.map(described).join('; ');
      if (look === MOST_LOOKS) throw unavailable(` (${who})`, locked);
      if (who !== said) this.#context.onStep(`waiting for a long transaction: ${who}`);
      said = who;
    }
  }

  async #longHolders(tables: readonly string[], lock: Locked['lock']): Promise<readonly LockHolder[]> {
    const { db, clock, signal } = this.#context;
    const first = await lockHolders(db, tables, lock);
    if (first.length === 0) return [];
    await clock.sleep(LOOK, signal);
    const seen = new Set(first.map(({ transaction }) => transaction));
    return (await lockHolders(db, tables, lock)).filter(({ transaction }) => seen.has(transaction));
  }
}

function isLocked(error: unknown): boolean {
  return WORTH_ANOTHER.has(sqlState(error) ?? '');
}

function unavailable(who: string, { otherwise }: Locked, cause?: unknown): DatabaseUnavailable {
  return new DatabaseUnavailable(
    `tables or views could not be locked: somebody has one open in a long transaction${who} (pg_stat_activity shows who); ${otherwise}`,
    { cause },
  );
}

function described({ pid, tables }: LockHolder): string {
  const [first = '', ...others] = tables;
  const what = others.length === 0 ? first : `${first} and ${others.length} more`;
  return `${pid === null ? 'a prepared one' : `pid ${pid}`} has ${what}`;
}
