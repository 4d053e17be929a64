import type { Clock } from '@research-mirror/runtime/clock';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { type Db, onlyRow } from './db.ts';
import { sqlState } from './sql-state.ts';

/**
 * `lockMs`: how long an attempt waits for a lock before it gives way, since everybody who comes later to a table for
 * which it waits has to wait behind it. `backOff`: milliseconds after the first attempt, as often as there were
 * attempts after each further one.
 */
export const PATIENCE = { attempts: 10, lockMs: 3_000, backOff: 100 };

export interface Retrying {
  /** Of two connections at least: one looks for what the other one waits. */
  readonly db: Db;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Default `PATIENCE`. */
  readonly patience?: Readonly<typeof PATIENCE>;
  /** What could not be done: begins a message. */
  readonly failure: string;
  /** SQLSTATEs that are worth another attempt, too. */
  readonly raced?: RegExp;
  /** Hears for whom it waits, before a further attempt. */
  readonly onStep?: (words: string) => void;
}

/**
 * Runs the work in a transaction; again after a lock's time-out, a deadlock, or a race with another program's DDL.
 * Between two attempts everybody else goes on.
 * @returns also how long (ms) the attempts took, without the time between them
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
      // Lock time-outs, deadlocks, serialization.
      const isLock = /^(?:55P03|40P01|40001)$/.test(state);
      const isLast = attempt === attempts;
      if (!isLock && (isLast || raced?.test(state) !== true)) throw error;
      over.abort();
      holder = (await watching) ?? holder;
      const message = `${failure}: ${holder} keeps a lock that the change of schema "${db.schema}" needs`;
      if (isLast) throw new DatabaseUnavailable(message, { cause: error });
    } finally {
      over.abort();
      await watching;
    }
    onStep?.(`waiting for ${holder}`);
    await clock.sleep(backOff * attempt, signal);
  }
}

/** @returns when `wait` throws, the session that kept the one of `pid` waiting when it was looked at last */
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
    // The attempt is over; or the database can't say.
    return found;
  }
}
