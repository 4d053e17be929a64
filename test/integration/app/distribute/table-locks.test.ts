import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { TableLocks } from '../../../../src/app/distribute/table-locks.ts';
import type { Database } from '../../../../src/db/connection/database.ts';
import type { Db } from '../../../../src/db/connection/db.ts';
import { openTestDatabase } from '../../../support/databases/migrated-database.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres/postgres.ts';

let place: TestDatabase;
let open: Database;
let steps: string[];

beforeEach(async () => {
  place = await createTestDatabase();
  open = await openTestDatabase(place.url);
  await open.db.raw('create schema mirror; create table mirror.a (n int); create table mirror.b (n int)');
  steps = [];
});
afterEach(async () => {
  await open.close();
  await place.drop();
});

const BOTH = {
  tables: ['mirror.a', 'mirror.b'],
  lock: 'exclusive',
  otherwise: 'nothing was changed',
} as const;

/** Time passes where somebody waits, and by `passes`. */
class Hours implements Clock {
  readonly waits: number[] = [];
  #ms = 0;
  now(): number {
    return this.#ms;
  }
  monotonic(): number {
    return this.#ms;
  }
  sleep(ms: number): Promise<void> {
    this.waits.push(ms);
    this.#ms += ms;
    return Promise.resolve();
  }
  passes(ms: number): void {
    this.#ms += ms;
  }
}

function locks(clock: Clock): TableLocks {
  const onStep = (words: string): number => steps.push(words);
  return new TableLocks({ db: open.db, clock, signal: new AbortController().signal, onStep });
}

/** A transaction that has `mirror.a` as somebody who makes an index has it, or reads it, while `work` lasts. */
async function beside<T>(
  mode: 'share update exclusive' | 'access share',
  work: () => Promise<T>,
): Promise<T> {
  return open.db.transaction(async (trx) => {
    await trx.raw(`lock table mirror.a in ${mode} mode`);
    return work();
  });
}

const refused = (trx: Db): Promise<void> =>
  trx.raw(`do $$ begin raise 'locked' using errcode = '55P03'; end $$`);

describe('locks of tables', () => {
  it('await the end of a long transaction while others write, and keep nobody waiting for it', async () => {
    const own = locks(systemClock);
    const lock = async (trx: Db, locking: () => void): Promise<void> => {
      locking();
      await trx.raw('lock table mirror.a in exclusive mode');
    };
    const done = await beside('share update exclusive', async () => {
      const repeating = own.repeat(BOTH, lock);
      await eventually('the long transaction to be seen', () => steps.length > 0);
      await open.db.raw(
        `set statement_timeout = '500ms'; insert into mirror.a values (1); reset statement_timeout`,
      );
      expect([own.attempts, own.waitedMs]).toEqual([0, 0]);
      return { repeating };
    });
    await done.repeating;
    expect(own.attempts).toBe(1);
    expect(steps).toEqual([expect.stringMatching(/^waiting for a long transaction: pid \d+ has mirror\.a$/)]);
  });

  it('do not wait for readers where these are not in the way', async () => {
    const hours = new Hours();
    await beside('access share', () => locks(hours).repeat(BOTH, () => Promise.resolve()));
    expect(hours.waits).toEqual([]);
  });

  it('do not take one short transaction after another for a long one', async () => {
    const hours = new Hours();
    let writer: Promise<void> | undefined;
    let end = Promise.withResolvers<void>();
    const write = async (): Promise<void> => {
      const begun = Promise.withResolvers<void>();
      end = Promise.withResolvers<void>();
      writer = open.db.transaction(async (trx) => {
        await trx.raw('insert into mirror.a values (1)');
        begun.resolve();
        await end.promise;
      });
      await begun.promise;
    };
    await write();
    const clock = {
      now: () => 0,
      monotonic: () => 0,
      sleep: async (ms: number) => {
        await hours.sleep(ms);
        end.resolve();
        await writer;
        await write();
      },
    };
    await locks(clock).repeat(BOTH, () => Promise.resolve());
    end.resolve();
    await writer;
    expect([hours.waits, steps]).toEqual([[1_000], []]);
  });

  it('say who has a table for good', async () => {
    const waiting = beside('share update exclusive', () =>
      locks(new Hours()).repeat(BOTH, () => Promise.resolve()),
    );
    await expect(waiting).rejects.toThrow(
      /long transaction \(pid \d+ has mirror\.a\) \(pg_stat_activity shows who\); nothing was changed/,
    );
  });

  it('count the time of all attempts, and leave others as much between two', async () => {
    const hours = new Hours();
    const own = locks(hours);
    let tries = 0;
    await own.repeat(BOTH, async (trx, locking) => {
      locking();
      tries += 1;
      hours.passes(tries * 1_000);
      if (tries < 3) await refused(trx);
    });
    expect([own.attempts, own.waitedMs, hours.waits]).toEqual([3, 6_000, [1_000, 2_000]]);
  });

  it('of each table by itself pass over those that somebody reads for good', async () => {
    const own = locks(new Hours());
    const done: string[] = [];
    const left = await beside('access share', () =>
      own.each(['mirror.a', 'mirror.b'], (_, table) => {
        done.push(table);
        return Promise.resolve();
      }),
    );
    expect([left, done, own.attempts]).toEqual([['mirror.a'], ['mirror.b'], 1]);
  });
});
