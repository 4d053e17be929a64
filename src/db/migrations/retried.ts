import type { Clock } from '@research-mirror/runtime/clock';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { type Db, onlyRow } from '../connection/db.ts';
import { sqlState } from '../connection/sql-state.ts';

export interface Patience {
  readonly attempts: number;
  /**
   * How long (ms) an attempt waits for a lock before it gives way: everybody who comes later to a table for which it
   * waits has to wait behind it.
   */
  readonly lockMs: number;
  /** Milliseconds after the first attempt, as often as there were attempts after each further one. Default 100. */
  readonly backOff?: number;
}

export const PATIENCE: Patience = { attempts: 10, lockMs: 3_000 };

export interface Retrying {
  /** Of two connections at least: one looks for what the other one waits. */
  readonly db: Db;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Default `PATIENCE`. */
  readonly patience?: Patience;
  /** What could not be done: begins a message. */
  readonly failure: string;
  /** SQLSTATEs that are worth another attempt, too. */
  readonly raced?: RegExp;
  /** Hears for whom it waits, before a further attempt. */
  readonly onStep?: (words: string) => void;
}

/** What was done, in how many attempts, and how long (ms) they took, without the time between them. */
export interface Retried<T> {
  readonly value: T;
  readonly attempts: number;
  readonly tookMs: number;
}

/** How often an attempt looks at what it waits for. */
const LOOKS = 6;
/** Lock time-outs, deadlocks, serialization. */
const WAITED = /^(?:55P03|40P01|40001)$/;

/**
 * Runs the work in a transaction; again after a lock's time-out, a deadlock, or a race with another program's DDL.
 * Between two attempts everybody else goes on.
 * @throws DatabaseUnavailable naming the session that keeps a lock; errors of the work; the signal's reason
 */
export async function retried<T>(options: Retrying, work: (trx: Db) => Promise<T>): Promise<Retried<T>> {
  const { db, clock, signal, patience = PATIENCE, failure, raced, onStep } = options;
  const { attempts, lockMs, backOff = 100 } = patience;
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
        watching = whoBlocks(options, pid, lockMs / LOOKS, over.signal);
        return await work(trx);
      });
      return { value, attempts: attempt, tookMs: tookMs + clock.monotonic() - begun };
    } catch (error) {
      tookMs += clock.monotonic() - begun;
      const state = sqlState(error) ?? '';
      if (!WAITED.test(state) && (raced?.test(state) !== true || attempt === attempts)) throw error;
      over.abort();
      holder = (await watching) ?? holder;
      if (attempt === attempts) {
        const message = `${failure}: ${holder} keeps a lock that the change of schema "${db.schema}" needs`;
        throw new DatabaseUnavailable(message, { cause: error });
      }
    } finally {
      over.abort();
      await watching;
    }
    onStep?.(`waiting for ${holder}`);
    await clock.sleep(backOff * attempt, signal);
  }
}

/** @returns the session that kept the one of `pid` waiting when it was looked at last; at the signal */
async function whoBlocks(
  { db, clock }: Retrying,
  pid: number,
  everyMs: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  let found: string | undefined;
  try {
    for (;;) {
      await clock.sleep(everyMs, signal);
      const { rows } = await db.sql<{ who: string }>`
        select case when a.pid is null then 'a prepared transaction (pg_prepared_xacts)'
          else format('session %s of %s (%s, its transaction began %s: "select pg_terminate_backend(%s)" ends it)', a.pid,
            coalesce(a.usename, 'an unknown user'), coalesce(nullif(a.application_name, ''), 'no application name'),
            coalesce(to_char(a.xact_start, 'YYYY-MM-DD HH24:MI:SS "UTC"'), 'at an unknown time'), a.pid) end as who
        from unnest(pg_blocking_pids(${pid})) as b (pid) left join pg_stat_activity a on a.pid = b.pid limit 1`;
      found = rows[0]?.who ?? found;
    }
  } catch {
    // The signal; or the database can't say.
    return found;
  }
}
