import { beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { retried } from '../../../src/postgres/retried.ts';
import type { Db } from '../../../src/postgres/db.ts';
import { createEmptyDatabase, databaseForEach } from '../../support/databases/migrated-database.ts';

const open = databaseForEach(createEmptyDatabase);
let steps: string[];

beforeEach(async () => {
  await open.db.raw('create schema mirror; create table mirror.a (n int)');
  steps = [];
});

/** A clock that advances while a caller waits between attempts, and by `passes`. */
class Hours implements Clock {
  readonly waits: number[] = [];
  #ms = 0;
  now(): number {
    return this.#ms;
  }
  monotonic(): number {
    return this.#ms;
  }
  /** The search for the holder of a lock waits in real time. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms === LOCK_MS / 6) return systemClock.sleep(ms, signal);
    this.waits.push(ms);
    this.#ms += ms;
    return Promise.resolve();
  }
  passes(ms: number): void {
    this.#ms += ms;
  }
}

const LOCK_MS = 300;

function run<T>(clock: Clock, attempts: number, work: (trx: Db) => Promise<T>) {
  const patience = { attempts, lockMs: LOCK_MS, backOff: 250 };
  const onStep = (words: string): number => steps.push(words);
  return retried({ db: open.db, clock, patience, failure: 'nothing was changed', onStep }, work);
}

/** A transaction that locks `mirror.a` as CREATE INDEX does, or reads it, while `work` lasts. */
async function beside<T>(
  mode: 'share update exclusive' | 'access share',
  work: () => Promise<T>,
): Promise<T> {
  return open.db.transaction(async (trx) => {
    await trx.raw(`lock table mirror.a in ${mode} mode`);
    return work();
  });
}

const lock = (trx: Db): Promise<void> => trx.raw('lock table mirror.a in exclusive mode');
const refused = (trx: Db): Promise<void> =>
  trx.raw(`do $$ begin raise 'locked' using errcode = '55P03'; end $$`);

describe('changes that wait for a lock', () => {
  it('wait for the end of a long transaction, and let others write meanwhile', async () => {
    const locked = await beside('share update exclusive', async () => {
      const locking = run(systemClock, 20, lock);
      await eventually('an attempt to give way', () => steps.length > 0);
      await open.db.raw(
        `set statement_timeout = '500ms'; insert into mirror.a values (1); reset statement_timeout`,
      );
      return { locking };
    });
    expect((await locked.locking).attempts).toBeGreaterThan(1);
    expect(steps[0]).toMatch(/^waiting for session \d+ of /);
  });

  it('do not wait for readers that are not in the way', async () => {
    const hours = new Hours();
    await beside('access share', () => run(hours, 1, lock));
    expect(hours.waits).toEqual([]);
  });

  it('name the session that keeps a table', async () => {
    const waiting = beside('share update exclusive', () => run(new Hours(), 2, lock));
    await expect(waiting).rejects.toThrow(
      /^nothing was changed: session \d+ of \w+ \(.*its transaction began .*"select pg_terminate_backend\(\d+\)" ends it\) keeps a lock/,
    );
  });

  it('count the time of all attempts, and wait between them, longer after each', async () => {
    const hours = new Hours();
    let tries = 0;
    const { attempts, tookMs } = await run(hours, 3, async (trx) => {
      tries += 1;
      hours.passes(tries * 1_000);
      if (tries < 3) await refused(trx);
    });
    expect([attempts, tookMs, hours.waits]).toEqual([3, 6_000, [250, 500]]);
  });

  it('end with the signal between two attempts', async () => {
    const stop = new AbortController();
    const patience = { attempts: 9, lockMs: LOCK_MS, backOff: 100 };
    const options = { db: open.db, clock: systemClock, signal: stop.signal, patience, failure: 'no' };
    const onStep = (): void => stop.abort(new Error('stopped'));
    await expect(retried({ ...options, onStep }, refused)).rejects.toThrow('stopped');
  });
});
