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

const LOCK_MS = 300;

/** A clock that advances while a caller waits between attempts, and by `passes`. */
function hours() {
  const waits: number[] = [];
  let ms = 0;
  const clock: Clock = {
    ...systemClock,
    monotonic: () => ms,
    sleep: async (forMs, signal) => {
      // The search for the holder of a lock waits in real time.
      if (forMs === LOCK_MS / 6) return systemClock.sleep(forMs, signal);
      waits.push(forMs);
      ms += forMs;
    },
  };
  return { clock, waits, passes: (forMs: number) => void (ms += forMs) };
}

function run<T>(clock: Clock, attempts: number, work: (trx: Db) => Promise<T>, stop?: AbortController) {
  const patience = { attempts, lockMs: LOCK_MS, backOff: 250 };
  const onStep = (words: string): void => {
    steps.push(words);
    stop?.abort(new Error('stopped'));
  };
  const signal = stop?.signal ?? new AbortController().signal;
  return retried({ db: open.db, clock, signal, patience, failure: 'nothing was changed', onStep }, work);
}

/** A transaction that locks `mirror.a` as CREATE INDEX does, or reads it, while `work` lasts. */
const beside = <T>(mode: 'share update exclusive' | 'access share', work: () => Promise<T>): Promise<T> =>
  open.db.transaction(async (trx) => {
    await trx.raw(`lock table mirror.a in ${mode} mode`);
    return work();
  });

const lock = (trx: Db) => trx.raw('lock table mirror.a in exclusive mode');
const refused = (trx: Db) => trx.raw(`do $$ begin raise 'locked' using errcode = '55P03'; end $$`);

describe('changes that wait for a lock', () => {
  it('wait for the end of a long transaction, and let others write meanwhile', async () => {
    const locked = await beside('share update exclusive', async () => {
      const locking = run(systemClock, 20, lock);
      await eventually('an attempt to give way', () => steps.length > 0);
      await open.db.raw(`set statement_timeout = '500ms'; insert into mirror.a values (1); reset statement_timeout`);
      return { locking };
    });
    expect((await locked.locking).attempts).toBeGreaterThan(1);
    expect(steps[0]).toMatch(/^waiting for session \d+ of /);
  });

  it('do not wait for readers that are not in the way', async () => {
    const { clock, waits } = hours();
    await beside('access share', () => run(clock, 1, lock));
    expect(waits).toEqual([]);
  });

  it('name the session that keeps a table', async () => {
    const waiting = beside('share update exclusive', () => run(hours().clock, 2, lock));
    await expect(waiting).rejects.toThrow(
      /^nothing was changed: session \d+ of \w+ \(.*its transaction began .*"select pg_terminate_backend\(\d+\)" ends it\) holds a lock/,
    );
  });

  it('count the time of all attempts, and wait between them, longer after each', async () => {
    const { clock, waits, passes } = hours();
    let tries = 0;
    const { attempts, tookMs } = await run(clock, 3, async (trx) => {
      tries += 1;
      passes(tries * 1_000);
      if (tries < 3) await refused(trx);
    });
    expect([attempts, tookMs, waits]).toEqual([3, 6_000, [250, 500]]);
  });

  it('end with the signal between two attempts', () =>
    expect(run(systemClock, 9, refused, new AbortController())).rejects.toThrow('stopped'));
});
