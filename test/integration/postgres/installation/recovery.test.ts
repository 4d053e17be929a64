import { beforeEach, describe, expect, it } from 'vitest';
import { Budget } from '../../../../src/service/budget.ts';
import { createBudgetStore } from '../../../../src/service/budget-store.ts';
import { createInstallation, openInstallation } from '../../../../src/postgres/installation.ts';
import { type Fence, fenced } from '../../../../src/postgres/fenced.ts';
import { recheckIfDue } from '../../../../src/sync/recheck.ts';
import { recordRecovery } from '../../../../src/postgres/hold.ts';
import { DatabaseWentBack, LeaseLost } from '../../../../src/model/errors.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { installed } from '../../../support/databases/installed.ts';
import { heldClock } from './held-clock.ts';

const scene = installed();
const { run, open, options, queue, states } = scene;
const SEVEN: Fence = { userId: '7', owner: 'owner', token: '1' };
const EIGHT: Fence = { userId: '8', owner: 'owner', token: '1' };

const ERROR = new DatabaseWentBack('a commit is gone', 'commits');
const SILENT = { warn: () => {}, info: () => {} };

const marks = () => run('select reason from mirror.recoveries order by detected_at');
const expectLost = async () =>
  expect(await run('select _user_id, owner, token, recheck from mirror_sync.account order by 1')).toEqual(
    ['7', '8'].map((_user_id) => ({ _user_id, owner: null, token: '2', recheck: true })),
  );
const write = (fence: Fence) => fenced(scene.database.db, fence, () => Promise.resolve());
/** As if a standby had been promoted: the stored timeline is not the server's. */
const promote = () =>
  run(`update mirror_sync.installation set nodes = (
      select jsonb_object_agg(key, '000000FF') from jsonb_each(nodes)),
    fingerprint = fingerprint || '{"timeline": "000000FF"}'`);

beforeEach(() => open());

describe('a database that went back', () => {
  it('is recorded once, by the first look; all accounts lose their owners, and IDs begin beyond the clock', async () => {
    await promote();
    await Promise.all([open(), open()]);
    expect(await marks()).toEqual([
      { reason: expect.stringMatching(/restored from a backup, or a standby took over/) as string },
    ]);
    await expectLost();
    const [row] = await run(
      `select change_floor > (extract(epoch from clock_timestamp()) * 1000000)::bigint + 50000000 as beyond
       from mirror_sync.installation`,
    );
    expect(row).toEqual({ beyond: true });
    await open();
    expect(await marks()).toHaveLength(1);
  });

  it('is recorded by an owner that misses its commits, once for all owners', async () => {
    await queue();
    for (const fence of [SEVEN, EIGHT]) await write(fence);
    for (const fence of [SEVEN, EIGHT]) await recordRecovery(scene.database.db, fence, ERROR);
    expect(await marks()).toEqual([{ reason: 'the database went back: a commit is gone' }]);
    await expectLost();
    // A claim may be lost.
    expect(await states()).toEqual(['held']);
    await expect(write(EIGHT)).rejects.toBeInstanceOf(LeaseLost);
  });

  it('is recorded again if the recovery that the owner knew is lost as well', async () => {
    await run(`insert into mirror.recoveries (detected_at, reason) values (now(), 'an earlier one')`);
    await write(SEVEN);
    await run('delete from mirror.recoveries');
    await queue();
    await recordRecovery(scene.database.db, SEVEN, ERROR);
    expect(await marks()).toHaveLength(1);
    expect(await states()).toEqual(['held']);
  });

  it('is noticed by an owner whose takeover is lost', async () => {
    await expect(write({ userId: '7', owner: 'owner', token: '9' })).rejects.toBeInstanceOf(DatabaseWentBack);
    await expect(write({ userId: '7', owner: 'other', token: '1' })).rejects.not.toBeInstanceOf(DatabaseWentBack);
  });

  it('lets nothing be sent before it is noticed, if this process’s sign of life is lost', async () => {
    const service = createInstallation({ ...options(), log: SILENT });
    await service.start();
    await queue();
    const store = scene.storeOf();
    await scene.silence(30);
    expect(await store.claim('1')).toBeUndefined();
    await scene.silence(-1);
    expect(await store.claim('1')).toMatchObject({ id: '1' });
    await service.stop();
  });

  it('is noticed within one look by a daemon whose sign of life is lost', async () => {
    const { aliveAt } = await openInstallation(options());
    await scene.silence(30);
    await openInstallation(options(), undefined, { aliveAt, watched: true });
    expect(await marks()).toEqual([
      { reason: expect.stringMatching(/it lost the last writes of this daemon/) as string },
    ]);
  });

  it('is noticed by a daemon within 4 s, without a write', async () => {
    const { clock, waits, asleep, next } = heldClock();
    const warned: string[] = [];
    const log = { ...SILENT, warn: (line: string) => warned.push(line) };
    const service = createInstallation({ ...options(), log, clock });
    await service.start();
    await asleep();
    await promote();
    await next();
    expect(waits).toEqual([4_000, 4_000]);
    await service.stop();
    expect(await marks()).toHaveLength(1);
    expect(warned).toEqual([]); // nothing is at stake
  });
});

describe('an account that is opened after the database went back', () => {
  it('forgets, once, what no longer proves anything, and its full walks are due', async () => {
    await run(`
      insert into mirror_sync.candidate (_user_id, collection, key, kind, obs, at, proven_at)
        values (7, 'lists', '1', 'snapshot', 1, now(), now()), (8, 'lists', '1', 'snapshot', 1, now(), now());
      insert into mirror_sync.slot_block (_user_id, key_hash, rate_group, block_id, size, valid_until)
        values (7, 'k', 'other', 1, 5, now());
      insert into mirror_sync.scope (_user_id, collection, memory, full_walk, last_obs)
        values (7, 'lists', '{"frontier": "1", "limit": {"widest": 4}}', '{}', 5), (7, 'watchlist', '{"rows": 1}', '{}', 5);
      insert into mirror._collections (_user_id, collection, held_deletions, waiting_deletions, next_full_at)
        values (7, 'lists', 1, 2, now() + interval '1 day'), (7, 'account', 0, 0, now() + interval '1 day')`);
    const { db } = scene.database;
    expect(await recheckIfDue(db, SEVEN, ['lists'], ['k'])).toBe(false);
    await run('update mirror_sync.account set recheck = true');
    expect(await recheckIfDue(db, SEVEN, ['lists'], ['k', 'other key'])).toBe(true);
    expect(await run('select _user_id from mirror_sync.candidate')).toEqual([{ _user_id: '8' }]);
    expect(await run('select 1 from mirror_sync.slot_block')).toEqual([]);
    const scopes = 'select memory, full_walk, last_obs from mirror_sync.scope order by collection';
    const kept = { full_walk: null, last_obs: '5' };
    expect(await run(scopes)).toEqual([
      { memory: { limit: { widest: 4 } }, ...kept },
      { memory: {}, ...kept },
    ]);
    const collections = `select collection, held_deletions + waiting_deletions as doubts, next_full_at <= now() as due
      from mirror._collections order by 1`;
    expect(await run(collections)).toEqual([
      { collection: 'account', doubts: '0', due: false },
      { collection: 'lists', doubts: '0', due: true },
    ]);
    expect(await recheckIfDue(db, SEVEN, ['lists'], ['k'])).toBe(false);
  });

  it('sends nothing, not even a ping, before earlier requests no longer count: the used slots are unknown', async () => {
    const { db } = scene.database;
    // The learnt limit stays. A key without rows is not a new one.
    await run(`
      insert into mirror_sync.slot_block (_user_id, key_hash, rate_group, block_id, size, valid_until)
        values (7, 'k', 'other', 1, 5, now());
      insert into mirror_sync.rate_group (_user_id, key_hash, rate_group, learnt)
        values (7, 'k', 'other', '{"serial": 5, "contacted": true}');
      update mirror_sync.account set recheck = true`);
    await recheckIfDue(db, SEVEN, ['lists'], ['k', 'new']);
    for (const keyHash of ['k', 'new']) {
      const budget = new Budget({
        keyHash,
        clock: systemClock,
        share: 1,
        store: createBudgetStore(db, SEVEN),
        loaded: await createBudgetStore(db, SEVEN).load(keyHash),
        onEvent: () => {},
      });
      for (const { why, forMs = 0 } of budget.snapshot().groups) {
        expect([why, forMs > 85_000 && forMs <= 90_250]).toEqual(['waiting after a 429', true]);
      }
    }
    const [kept] = await run(`select learnt - 'pausedUntil' as learnt from mirror_sync.rate_group
      where key_hash = 'k' and rate_group = 'other'`);
    expect(kept).toEqual({ learnt: { serial: 5, contacted: true } });
  });
});
