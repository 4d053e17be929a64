import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { databaseTime } from '../../../src/postgres/db.ts';
import { type Fence, fenced } from '../../../src/postgres/fenced.ts';
import { createHeartbeat, type Heartbeat, isDeadHere, ownIdentity } from '../../../src/postgres/heartbeat.ts';
import { ensureAccount, livingOwner, releaseAccount, takeAccount } from '../../../src/postgres/lease.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { LeaseLost } from '../../../src/model/errors.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { openTestDatabase, testDatabase } from '../../support/databases/migrated-database.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { sessionsWaiting } from '../../support/postgres/sessions-waiting.ts';

const USER = '42';
const OTHER_USER = '43';
const ELSEWHERE = { host: 'elsewhere', machine: 'another machine', pid: 1, startedTicks: '1' };
const database = testDatabase();
const { rows } = database;
const own = await ownIdentity();
const heartbeats: Heartbeat[] = [];

beforeEach(async () => {
  const now = await databaseTime(database.db);
  for (const userId of [USER, OTHER_USER]) await ensureAccount(database.db, userId, now);
  await rows(`create table if not exists public.page (content text); truncate public.page;
    insert into public.page values ('old')`);
});
afterEach(async () => {
  for (const each of heartbeats.splice(0)) await each.stop();
  await rows('delete from mirror_sync.account; delete from mirror_sync.process');
});

function heartbeatOf(processId: string, identity = ELSEWHERE, clock = systemClock): Heartbeat {
  const log = { info: () => {}, warn: () => {} };
  const common = { db: database.db, processId, identity, clock, log };
  const heartbeat = createHeartbeat({ ...common, command: 'start', version: '9.9.9' });
  heartbeats.push(heartbeat);
  return heartbeat;
}

const alive = (processId: string, identity = ELSEWHERE) => heartbeatOf(processId, identity).start();
const take = (processId: string, userId = USER) => takeAccount(database.db, userId, processId, own);
const owner = () => livingOwner(database.db, USER, own);

async function taken(processId: string, userId = USER): Promise<Fence> {
  const result = await take(processId, userId);
  if (result.state !== 'taken') throw new Error(`owned by ${result.by.processId}`);
  return result.fence;
}

/** As if the process had been killed long enough ago for its heartbeat to expire. */
const silence = (processId: string) =>
  rows(`update mirror_sync.process set alive_until = now() - interval '1 s' where process_id = '${processId}'`);

const write = (fence: Fence, content: string, inBetween = async (): Promise<void> => {}) =>
  fenced(database.db, fence, async (trx) => {
    await inBetween();
    await trx.sql`update public.page set content = ${content}`;
  });
const content = async () => (await rows<{ content: string }>('select content from public.page'))[0]?.content;

const somebodyWaitsForALock = () =>
  eventually('somebody who waits for a lock', async () => (await sessionsWaiting(rows)) > 0, 10_000, 5);
const nobodyIsInATransaction = () => {
  const open = `select from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`;
  return eventually('the end of all transactions', async () => (await rows(open)).length === 0, 10_000, 5);
};

describe('an account', () => {
  it('has one living owner; the next one takes it, with a greater token, when the owner is silent', async () => {
    await alive('A');
    const first = await taken('A');
    await alive('B');
    const by = { processId: 'A', command: 'start', here: false };
    expect(await take('B')).toMatchObject({ state: 'owned', by });
    await silence('A');
    const second = await taken('B');
    expect(BigInt(second.token)).toBeGreaterThan(BigInt(first.token));
  });

  it('is not kept by an owner whose last heartbeat is in the future: the database’s clock went back', async () => {
    await alive('A');
    await taken('A');
    await rows(`update mirror_sync.process set alive_until = now() + interval '1 hour'`);
    expect((await take('B')).state).toBe('taken');
  });

  it('is free at once when its owner releases it, and only the owner can', async () => {
    await alive('A');
    const fence = await taken('A');
    await releaseAccount(database.db, { ...fence, token: '99' });
    expect((await take('B')).state).toBe('owned');
    expect(await owner()).toMatchObject({ processId: 'A' });
    await releaseAccount(database.db, fence);
    expect(await owner()).toBeUndefined();
    expect((await take('B')).state).toBe('taken');
  });

  it('is free at once when its owner died on this machine, before the heartbeat expires', async () => {
    const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' });
    const identity = { ...own, pid: child.pid ?? 0, startedTicks: '1' };
    await once(child, 'exit');
    await alive('A', identity);
    await rows(`update mirror_sync.account set owner = 'A'`);
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
      await somebodyWaitsForALock();
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
    await database.db.transaction(async (trx) => {
      await trx.sql`update mirror_sync.account set owner = 'B', token = token + 1 where _user_id = ${USER}`;
      late = write(stale, 'stale').catch((error: unknown) => error);
      await somebodyWaitsForALock();
    });
    expect(await late).toBeInstanceOf(LeaseLost);
    expect(await content()).toBe('old');
  });

  it('refuses the owner of a lost account, even if it holds another under an equal token', async () => {
    const [first, second] = [await taken('A'), await taken('A', OTHER_USER)];
    expect(first.token).toBe(second.token);
    await taken('B');
    await expect(write(first, 'lost')).rejects.toThrow(LeaseLost);
    await write(second, 'written');
    await releaseAccount(database.db, first);
    expect(await rows('select owner, token from mirror_sync.account order by _user_id')).toEqual([
      { owner: 'B', token: '2' },
      { owner: 'A', token: '1' },
    ]);
  });

  it('gets no writes under its old token, even if the same process has taken it again', async () => {
    const before = await taken('A');
    const again = await taken('A');
    await expect(write(before, 'old token')).rejects.toThrow(LeaseLost);
    await write(again, 'written');
    expect(await content()).toBe('written');
  });

  it('is taken by an owner’s transactions in turn: none waits for another in Postgres', async () => {
    const brisk = await openTestDatabase(database.url, { bounds: { statement: 3_000, idle: 60_000 } });
    await rows(`update mirror_sync.account set owner = 'me', token = 7`);
    const fence: Fence = { userId: USER, owner: 'me', token: '7' };
    // Each holds the fence for 1.8 s, by statements well within the bound: the third one's wait for both would not be.
    const long = () =>
      fenced(brisk.db, fence, async (trx) => {
        for (let half = 0; half < 2; half += 1) await sql`select pg_sleep(0.9)`.execute(trx);
      });
    await expect(Promise.all([long(), long(), long()])).resolves.toHaveLength(3);
    await brisk.close();
  });

  it('ends an owner that hangs in its transaction, so that others do not wait for long', async () => {
    const short = await openTestDatabase(database.url, { bounds: { statement: 300, idle: 300 } });
    await alive('A');
    const fence = await taken('A');
    const hang = (work: Parameters<typeof fenced>[2]) => fenced(short.db, fence, work);
    await expect(hang((trx) => trx.sql`select pg_sleep(60)`)).rejects.toThrow(DatabaseUnavailable);
    const late = hang(async (trx) => {
      await nobodyIsInATransaction();
      await trx.sql`update public.page set content = 'too late'`;
    });
    await expect(late).rejects.toThrow(DatabaseUnavailable);
    expect(await content()).toBe('old');
    await short.close();
  });
});

it('a heartbeat is valid for its own process for less time than for others, from when it was sent', async () => {
  const clock = new VirtualClock();
  const heartbeat = heartbeatOf('V', own, clock);
  const stored = () =>
    rows<{ left: number }>(`select extract(epoch from alive_until - clock_timestamp())::float as left
      from mirror_sync.process where process_id = 'V'`);
  expect(heartbeat.ownsUntil()).toBe(-Infinity);
  await heartbeat.start();
  expect(heartbeat.ownsUntil()).toBe(clock.monotonic() + 10_000);
  expect((await stored())[0]?.left).toBeGreaterThan(10);
  await heartbeat.stop();
  expect(heartbeat.ownsUntil()).toBe(-Infinity);
  expect(await stored()).toEqual([]);
});
