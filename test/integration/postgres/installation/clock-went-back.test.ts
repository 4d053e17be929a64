import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createBudgetStore } from '../../../../src/service/budget-store.ts';
import { type Fence, fenced } from '../../../../src/postgres/fenced.ts';
import { createHeartbeat, ownIdentity } from '../../../../src/postgres/heartbeat.ts';
import { mendMoments } from '../../../../src/sync/recheck.ts';
import { OwnedAccounts } from '../../../../src/postgres/lease.ts';
import { suspectScopes } from '../../../../src/mirror/suspect-store.ts';
import { ClockStepped } from '../../../../src/model/errors.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { installed } from '../../../support/databases/installed.ts';
import { heldClock } from './held-clock.ts';
import { shadowClock } from '../../../support/clocks/shadowed-clock.ts';
import { dueLists } from '../../../support/mirror/due-lists.ts';

// The first two tests move times forward: the database sees them so after its clock went back.

const scene = installed();
const { run } = scene;
const opened = (): Fence => ({ userId: '7', owner: 'owner', token: '1' });
/** Another one for each test: a process knows what it did under a fence. */
let SEVEN: Fence;
beforeEach(() => {
  SEVEN = opened();
});
const HOUR = `interval '1 hour'`;
const HOUR_MS = 3_600_000;

it('after the clock went back, nothing of an opened account waits for a time in the future', async () => {
  const { db } = scene.database;
  await run(`
    insert into mirror_sync.scope (_user_id, collection, parent, last_read_at, full_at)
      values (7, 'list_items', '1', now() + ${HOUR}, now() + ${HOUR});
    insert into mirror_sync.candidate (_user_id, collection, key, kind, obs, at)
      values (7, 'lists', '1', 'snapshot', 1, now() + ${HOUR});
    insert into mirror_sync.slot_block (_user_id, key_hash, rate_group, block_id, size, valid_until, freed)
      values (7, 'k', 'other', 1, 5, now() + ${HOUR}, array[now() + ${HOUR}]);
    insert into mirror_sync.api_key (key_hash, _user_id, pinged_at) values ('k', 7, now() + ${HOUR});
    insert into mirror_sync.first_ping (key_hash, sent_at) values ('k', now() + ${HOUR})`);
  expect(await dueLists(db, '7')).toEqual([]);
  await mendMoments(db, SEVEN);
  const soon = Date.now() + 20_000;
  expect(await dueLists(db, '7')).toHaveLength(1);
  const [suspect] = await suspectScopes(db, '7', 'lists');
  expect(suspect?.lastSuspectedAt.getTime()).toBeLessThan(soon);
  const { blocks } = await createBudgetStore(db, SEVEN).load('k');
  expect(blocks).toHaveLength(2);
  for (const block of blocks) {
    expect(block.validUntil).toBeLessThan(soon);
    expect(block.freed).toEqual([]);
  }
});

it('times that may be in the future, or are not, stay as they are', async () => {
  await run(`
    insert into mirror_sync.candidate (_user_id, collection, key, kind, obs, at)
      values (7, 'lists', '1', 'snapshot', 1, now() + interval '2 s');
    insert into mirror_sync.slot_block (_user_id, key_hash, rate_group, block_id, size, valid_until, freed)
      values (7, 'k', 'other', 1, 5, now() + interval '9 s', array[now()])`);
  const all = () => run('select c.at, b.valid_until, b.freed from mirror_sync.candidate c, mirror_sync.slot_block b');
  const before = await all();
  await mendMoments(scene.database.db, SEVEN);
  expect(await all()).toEqual(before);
});

describe('a step of the clock under an owner', () => {
  const nothing = () => Promise.resolve();
  /** An account with current times, its owner's connection, and a function that steps that connection's clock. */
  const owned = async () => {
    const step = await shadowClock(scene.database.url);
    const { db } = await scene.opened(scene.database.url);
    await fenced(db, SEVEN, nothing);
    await run(`
      insert into mirror_sync.scope (_user_id, collection, parent, last_read_at, polled_at, complete_as_of, memory, full_walk)
        values (7, 'lists', '', now(), now(), now() - ${HOUR} * 2, '{"limit":5,"whole":{}}',
          jsonb_build_object('began', extract(epoch from now()) * 1000));
      insert into mirror_sync.candidate (_user_id, collection, key, kind, obs, at) values (7, 'lists', '1', 'snapshot', 1, now());
      insert into mirror_sync.slot_block (_user_id, key_hash, rate_group, block_id, size, valid_until, freed)
        values (7, 'k', 'other', 1, 5, now() + interval '10 s', array[now() + interval '60 s'])`);
    return { db, step };
  };
  /** By how many minutes each time is later than when it was stored. */
  const moved = async () => {
    const minutes = (moment: string) => `round(extract(epoch from ${moment} - now()) / 60)::int`;
    const rows = await run(`
      select ${minutes('s.last_read_at')} as read, ${minutes('s.polled_at')} as polled,
        ${minutes('s.complete_as_of')} as complete, ${minutes('c.at')} as suspected, ${minutes('b.valid_until')} as slots,
        ${minutes('b.freed[1]')} as freed, s.memory, s.full_walk is not null as walking
      from mirror_sync.scope s, mirror_sync.candidate c, mirror_sync.slot_block b`);
    return rows[0];
  };

  it('back moves times in the future with it, and has the account opened again', async () => {
    const { db, step } = await owned();
    await step(-HOUR_MS);
    const write = vi.fn(nothing);
    await expect(fenced(db, SEVEN, write)).rejects.toThrow(/is opened again: .*clock went back by 60 min/);
    const state = { memory: { limit: 5 }, walking: false };
    const read = { read: -60, polled: -60, complete: -120 };
    expect(await moved()).toEqual({ ...read, suspected: -60, slots: -60, freed: -59, ...state });
    await expect(fenced(db, SEVEN, write)).rejects.toBeInstanceOf(ClockStepped);
    expect(write).not.toHaveBeenCalled();
    // Nothing happens twice. The row still belongs to its owner, which releases it.
    await expect(fenced(db, opened(), write)).resolves.toBeUndefined();
    expect(await moved()).toMatchObject({ suspected: -60, slots: -60 });
  });

  it('ahead moves waits with it, but not as of when rows are mirrored: the machine may have slept', async () => {
    const { db, step } = await owned();
    await step(HOUR_MS);
    await expect(fenced(db, SEVEN, nothing)).rejects.toThrow(/clock went ahead by 60 min/);
    const state = { memory: { limit: 5 }, walking: true };
    const read = { read: 0, polled: 0, complete: -120 };
    expect(await moved()).toEqual({ ...read, suspected: 60, slots: 60, freed: 61, ...state });
  });

  it.each([-HOUR_MS, HOUR_MS])('of %i ms loses no slot that its owner returns', async (byMs) => {
    const { db, step } = await owned();
    const before = Date.now();
    await step(byMs);
    const freed = [before + 60_000, before + 61_000];
    const blocks = [{ group: 'other', blockId: 1, freed }] as const;
    await createBudgetStore(db, SEVEN).record({ keyHash: 'k', blocks, learnt: [] });
    const loaded = (await createBudgetStore(db, opened()).load('k')).blocks[0]?.freed ?? [];
    expect(loaded).toHaveLength(2);
    for (const [index, at] of loaded.entries()) expect(Math.abs(at - (freed[index] ?? 0) - byMs)).toBeLessThan(5_000);
  });

  it('of a few seconds does not count', async () => {
    const { db, step } = await owned();
    for (const seconds of [-10, 3, -9]) {
      await step(seconds * 1_000);
      await expect(fenced(db, SEVEN, nothing)).resolves.toBeUndefined();
    }
    expect(await moved()).toMatchObject({ suspected: 0, slots: 0, walking: true });
  });

  it.each([-HOUR_MS, HOUR_MS])('of %i ms loses no outcome of a sent submission', async (aheadMs) => {
    const { db, step } = await owned();
    await scene.open({ db });
    await scene.queue();
    const store = scene.storeOf(7, { db });
    const claimed = await store.claim('1');
    await step(aheadMs);
    await store.finish(claimed?.id ?? '', { state: 'accepted', status: 200, body: '{}' });
    expect(await scene.states()).toEqual(['accepted']);
  });

  it('ends the work on all accounts of the process, whose heartbeat notices it', async () => {
    const { db, step } = await owned();
    const accounts = new OwnedAccounts();
    const ended: string[] = [];
    accounts.add(SEVEN, () => void ended.push('7'));
    const steps: number[] = [];
    const { clock, asleep, next } = heldClock();
    const program = { processId: 'owner', identity: await ownIdentity(), command: 'start', version: '9.9.9' };
    const heartbeat = createHeartbeat({
      ...program,
      db,
      clock,
      log: { info: () => {}, warn: () => {} },
      onClockStep: (byMs) => {
        steps.push(Math.round(byMs / 60_000));
        void accounts.reopen(db);
      },
    });
    await heartbeat.start();
    await asleep();
    await next();
    expect(steps).toEqual([]);
    await step(-HOUR_MS);
    await next();
    await eventually('the end of the work', () => ended.length > 0);
    expect({ steps, ended }).toEqual({ steps: [-60], ended: ['7'] });
    await step(0);
    await next();
    expect(steps).toEqual([-60, 60]);
    // Its times moved with the clock, both times.
    await eventually('the second end', () => ended.length > 1);
    await heartbeat.stop();
  });
});
