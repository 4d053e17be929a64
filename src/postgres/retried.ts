import type { Clock } from '@research-mirror/runtime/clock';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { type Db, onlyRow } from './db.ts';
import { sqlState } from './sql-state.ts';

/**
 * `lockMs`: longest wait of an attempt for a lock, ms, since later sessions queue behind it. `backOff`: wait between
 * attempts, ms, times the number of attempts so far.
 */
export const PATIENCE = { attempts: 10, lockMs: 3_000, backOff: 100 };

export interface Retrying {
  /** With two connections or more: one looks which session blocks the other. */
  readonly db: Db;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Default `PATIENCE`. */
  readonly patience?: Readonly<typeof PATIENCE>;
  /** Begins a message: what could not be done. */
  readonly failure: string;
  /** Further SQLSTATEs that are retried. */
  readonly raced?: RegExp;
  /** Called before each further attempt, with the session that blocks. */
  readonly onStep?: (words: string) => void;
}

/**
 * Runs the work in a transaction; again after a lock time-out, a deadlock, or a race with another program's DDL.
 * @returns also the number of attempts and their time, ms, without the waits between them
 * @throws DatabaseUnavailable naming the session that keeps a lock; errors of the work; the signal's reason
 */
export async function retried<T>(options: Retrying, work: (trx: Db) => Promise<T>) {
  const { db, clock, signal, failure, raced, onStep } = options;
  const { attempts, lockMs, backOff } = options.patience ?? PATIENCE;
  let tookMs = 0;
  let holder = 'another session';
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    const over = new AbortController();
    const begun = clock.monotonic();
    let watching: Promise<string | undefined> | undefined;
    try {
      const value = await db.transaction(async (trx) => {
        await trx.raw(`set local lock_timeout = ${lockMs}`);
        const { pid } = onlyRow(await trx.sql<{ pid: number }>`select pg_backend_pid() as pid`);
        watching = whoBlocks(db, pid, () => clock.sleep(lockMs / 6, over.signal));
        return await work(trx);
      });
      return { value, attempts: attempt, tookMs: tookMs + clock.monotonic() - begun };
    } catch (error) {
      tookMs += clock.monotonic() - begun;
      const state = sqlState(error) ?? '';
      // Lock time-out, deadlock, serialization failure.
      const isLock = /^(?:55P03|40P01|40001)$/.test(state);
      const isLast = attempt === attempts;
      if (!isLock && (isLast || raced?.test(state) !== true)) throw error;
      over.abort();
      holder = (await watching) ?? holder;
      const message = `${failure}: ${holder} holds a lock that the change of schema "${db.schema}" needs`;
      if (isLast) throw new DatabaseUnavailable(message, { cause: error });
    } finally {
      over.abort();
      await watching;
    }
    onStep?.(`waiting for ${holder}`);
    await clock.sleep(backOff * attempt, signal);
  }
}

/** Looks after each `wait` until that throws. @returns the last session found that blocked `pid` */
async function whoBlocks(db: Db, pid: number, wait: () => Promise<void>): Promise<string | undefined> {
  let found: string | undefined;
  try {
    for (;;) {
      await wait();
      const { rows } = await db.sql<{ who: string }>`
        select case when a.pid is null then 'a prepared transaction (pg_prepared_xacts)'
          else format('session %s of %s (%s, its transaction began %s: "select pg_terminate_backend(%s)" ends it)', a.pid,
            coalesce(a.usename, 'an unknown user'), coalesce(nullif(a.application_name, ''), 'no application name'),
            coalesce(to_char(a.xact_start, 'YYYY-MM-DD HH24:MI:SS "UTC"'), 'at an unknown time'), a.pid) end as who
        from unnest(pg_blocking_pids(${pid})) as b (pid) left join pg_stat_activity a on a.pid = b.pid limit 1`;
      found = rows[0]?.who ?? found;
    }
  } catch {
    // The attempt is over, or the database can't say.
    return found;
  }
}
