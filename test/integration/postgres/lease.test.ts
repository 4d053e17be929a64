import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { sql } from 'kysely';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { databaseTime } from '../../../src/postgres/db.ts';
import type { Database } from '../../../src/postgres/pool.ts';
import { type Fence, fenced } from '../../../src/postgres/fenced.ts';
import {
  createHeartbeat,
  type Heartbeat,
  isDeadHere,
  ownIdentity,
  type ProcessIdentity,
} from '../../../src/postgres/heartbeat.ts';
import {
  ensureAccount,
  livingOwner,
  releaseAccount,
  takeAccount,
  type TakeResult,
} from '../../../src/postgres/lease.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { LeaseLost } from '../../../src/model/errors.ts';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { openTestDatabase, testDatabase } from '../../support/databases/migrated-database.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { sessionsWaiting } from '../../support/postgres/sessions-waiting.ts';

const USER = '42';
const ELSEWHERE: ProcessIdentity = {
  host: 'elsewhere',
  machine: 'another machine',
  pid: 1,
  startedTicks: '1',
};
const database = testDatabase();
let own: ProcessIdentity;
const heartbeats: Heartbeat[] = [];

beforeAll(async () => {
  own = await ownIdentity();
});
beforeEach(async () => {
  await ensureAccount(database.db, USER, await databaseTime(database.db));
  await database.db
    .sql`create table if not exists public.page (content text); truncate public.page; insert into public.page values ('old')`;
});
afterEach(async () => {
  for (const each of heartbeats.splice(0)) await each.stop();
  await database.db.sql`delete from mirror_sync.account; delete from mirror_sync.process`;
});

function heartbeatOf(processId: string, identity: ProcessIdentity, clock: Clock = systemClock): Heartbeat {
  const log = { info: () => {}, warn: () => {} };
  const common = { db: database.db, processId, identity, clock, log };
  const heartbeat = createHeartbeat({ ...common, command: 'start', version: '9.9.9' });
  heartbeats.push(heartbeat);
  return heartbeat;
}

const alive = (processId: string, identity = ELSEWHERE): Promise<void> =>
  heartbeatOf(processId, identity).start();

const take = (processId: string): Promise<TakeResult> => takeAccount(database.db, USER, processId, own);

async function taken(processId: string): Promise<Fence> {
  const result = await take(processId);
  if (result.state !== 'taken') throw new Error(`owned by ${result.by.processId}`);
  return result.fence;
}

/** As if the process had been killed long enough ago for its heartbeat to expire. */
const silence = (processId: string): Promise<unknown> =>
  database.db
    .sql`update mirror_sync.process set alive_until = now() - interval '1 s' where process_id = ${processId}`;

const write = (fence: Fence, content: string, inBetween = async (): Promise<void> => {}): Promise<void> =>
  fenced(database.db, fence, async (trx) => {
    await inBetween();
    await sql`update public.page set content = ${content}`.execute(trx);
  });

async function content(): Promise<string | undefined> {
  const { rows } = await database.db.sql<{ content: string }>`select content from public.page`;
  return rows[0]?.content;
}

describe('an account', () => {
  it('has one living owner; the next one takes it, with a greater token, when the owner is silent', async () => {
    await alive('A');
    const first = await taken('A');
    await alive('B');
    expect(await take('B')).toMatchObject({
      state: 'owned',
      by: { processId: 'A', command: 'start', here: false },
    });
    await silence('A');
    const second = await taken('B');
    expect(BigInt(second.token)).toBeGreaterThan(BigInt(first.token));
  });

  it('is not kept by an owner whose last heartbeat is in the future: the database’s clock went back', async () => {
    await alive('A');
    await taken('A');
    await database.db
      .sql`update mirror_sync.process set alive_until = now() + interval '1 hour' where process_id = 'A'`;
    expect((await take('B')).state).toBe('taken');
  });

  it('is free at once when its owner releases it, and only the owner can', async () => {
    await alive('A');
    const fence = await taken('A');
    await releaseAccount(database.db, { ...fence, token: '99' });
    expect((await take('B')).state).toBe('owned');
    expect(await livingOwner(database.db, USER, own)).toMatchObject({ processId: 'A' });
    await releaseAccount(database.db, fence);
    expect(await livingOwner(database.db, USER, own)).toBeUndefined();
    expect((await take('B')).state).toBe('taken');
  });

  it('is free at once when its owner died on this machine, before the heartbeat expires', async () => {
    const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' });
    const identity = { ...own, pid: child.pid ?? 0, startedTicks: '1' };
    await once(child, 'exit');
    await alive('A', identity);
    await database.db.sql`update mirror_sync.account set owner = 'A'`;
    // If the system does not tell (macOS), the heartbeat must expire.
    expect((await take('B')).state).toBe((await isDeadHere(own, identity)) ? 'taken' : 'owned');
  });
});

describe('the fence', () => {
  it('makes a takeover wait for a page that is being committed; no page commits after the takeover', async () => {
    await alive('A');
    const stale = await taken('A');
    const order: string[] = [];
    let takeover: Promise<void> = Promise.resolve();
    await write(stale, 'page of A', async () => {
      await silence('A');
      takeover = taken('B').then((fence) => {
        order.push('taken');
        return write(fence, 'page of B');
      });
      await untilSomebodyWaitsForALock();
      order.push('committing');
    });
    await takeover;
    expect(order).toEqual(['committing', 'taken']);
    expect(await content()).toBe('page of B');
  });

  it('makes a stale owner that waited for the takeover write nothing', async () => {
    await alive('A');
    const stale = await taken('A');
    let late: Promise<unknown> = Promise.resolve();
    await database.kysely.transaction().execute(async (trx) => {
      await sql`update mirror_sync.account set owner = 'B', token = token + 1 where _user_id = ${USER}`.execute(
        trx,
      );
      late = write(stale, 'stale').catch((error: unknown) => error);
      await untilSomebodyWaitsForALock();
    });
    expect(await late).toBeInstanceOf(LeaseLost);
    expect(await content()).toBe('old');
  });

  it('is taken by an owner’s transactions in turn: none waits for another in Postgres', async () => {
    const bounds = { statement: 3_000, idle: 60_000 };
    const brisk = await openTestDatabase(database.url, { bounds });
    await database.db.sql`update mirror_sync.account set owner = 'me', token = 7`;
    const fence: Fence = { userId: USER, owner: 'me', token: '7' };
    // Each holds the fence for 1.8 s, by statements well within the bound: the third one's wait for both would not be.
    const long = (): Promise<void> =>
      fenced(brisk.db, fence, async (trx) => {
        await sql`select pg_sleep(0.9)`.execute(trx);
        await sql`select pg_sleep(0.9)`.execute(trx);
      });
    await expect(Promise.all([long(), long(), long()])).resolves.toHaveLength(3);
    await brisk.close();
  });

  it('ends an owner that hangs in its transaction, so that others do not wait for long', async () => {
    const bounds = { statement: 300, idle: 300 };
    const short: Database = await openTestDatabase(database.url, { bounds });
    await alive('A');
    const fence = await taken('A');
    const hang = (work: Parameters<typeof fenced>[2]): Promise<unknown> => fenced(short.db, fence, work);
    await expect(hang((trx) => sql`select pg_sleep(60)`.execute(trx))).rejects.toThrow(DatabaseUnavailable);
    await expect(
      hang(async (trx) => {
        await untilNobodyIsInATransaction();
        await sql`update public.page set content = 'too late'`.execute(trx);
      }),
    ).rejects.toThrow(DatabaseUnavailable);
    expect(await content()).toBe('old');
    await short.close();
  });
});

describe('the heartbeat', () => {
  it('is valid for its own process for less time than for others, from when it was sent', async () => {
    const clock = new VirtualClock();
    const heartbeat = heartbeatOf('V', own, clock);
    expect(heartbeat.ownsUntil()).toBe(-Infinity);
    await heartbeat.start();
    expect(heartbeat.ownsUntil()).toBe(clock.monotonic() + 10_000);
    const { rows } = await database.db.sql<{ left: number }>`
      select extract(epoch from alive_until - clock_timestamp())::float as left from mirror_sync.process
      where process_id = 'V'`;
    expect(rows[0]?.left).toBeGreaterThan(10);
    await heartbeat.stop();
    expect(heartbeat.ownsUntil()).toBe(-Infinity);
    const left = await database.db.sql`select 1 from mirror_sync.process where process_id = 'V'`;
    expect(left.rows).toEqual([]);
  });
});

const run = async (text: string): Promise<object[]> => (await database.db.sql<object>`${sql.raw(text)}`).rows;

/** Waits until the database shows a waiting statement, or none. */
const untilSomebodyWaitsForALock = (): Promise<unknown> =>
  eventually('somebody who waits for a lock', async () => (await sessionsWaiting(run)) > 0, 10_000, 5);
const untilNobodyIsInATransaction = (): Promise<unknown> => {
  const open = `select from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`;
  return eventually('the end of all transactions', async () => (await run(open)).length === 0, 10_000, 5);
};
