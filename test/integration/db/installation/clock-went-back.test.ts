import { expect, it } from 'vitest';
import { createBudgetStore } from '../../../../src/db/budget/budget-store.ts';
import { createHeartbeat } from '../../../../src/db/ownership/heartbeat.ts';
import { mendMoments } from '../../../../src/db/accounts/mend-moments.ts';
import { OwnedAccounts } from '../../../../src/db/ownership/owned-accounts.ts';
import { ownIdentity } from '../../../../src/db/ownership/process-identity.ts';
import { suspectScopes } from '../../../../src/mirror/deletion/stored-suspects.ts';
import { dueScopes } from '../../../../src/mirror/scope/scope-store.ts';
import type { Fence } from '../../../../src/model/fence.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { installed } from '../../../support/databases/installed.ts';

// Moments are moved forward: that is what the database sees of them when its clock went back.

const scene = installed();
const { run } = scene;
const SEVEN: Fence = { userId: '7', owner: 'owner', token: '1' };
const HOUR = `interval '1 hour'`;

it('nothing of an account that is opened waits for a moment that lies ahead', async () => {
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
  const due = () =>
    dueScopes(db, {
      userId: '7',
      collection: 'list_items',
      notReadSince: new Date(Date.now() + 1_000),
      fully: false,
      except: [],
      again: false,
      order: {
        now: new Date('2026-02-01T00:00:00Z'),
        first: 'changed',
        longestMs: 86_400_000,
        priorMs: 86_400_000,
        unfinishedPriorMs: 3_600_000,
      },
      resting: 'last',
      announced: 'believed',
      limit: 10,
    });
  expect(await due()).toEqual([]);
  await mendMoments(db, SEVEN);
  const soon = Date.now() + 20_000;
  expect(await due()).toHaveLength(1);
  const [suspect] = await suspectScopes(db, '7', 'lists');
  expect(suspect?.lastSuspectedAt.getTime()).toBeLessThan(soon);
  const { blocks } = await createBudgetStore(db, SEVEN).load('k');
  expect(blocks).toHaveLength(2);
  for (const block of blocks) {
    expect(block.validUntil).toBeLessThan(soon);
    expect(block.freed).toEqual([]);
  }
});

it('moments that may lie ahead, or do not, stay as they are', async () => {
  await run(`
    insert into mirror_sync.candidate (_user_id, collection, key, kind, obs, at)
      values (7, 'lists', '1', 'snapshot', 1, now() + interval '2 s');
    insert into mirror_sync.slot_block (_user_id, key_hash, rate_group, block_id, size, valid_until, freed)
      values (7, 'k', 'other', 1, 5, now() + interval '9 s', array[now()])`);
  const all = (): Promise<unknown[]> =>
    run('select c.at, b.valid_until, b.freed from mirror_sync.candidate c, mirror_sync.slot_block b');
  const before = await all();
  await mendMoments(scene.database.db, SEVEN);
  expect(await all()).toEqual(before);
});

it('a process opens its accounts anew when the database’s clock went back since its last heartbeat', async () => {
  const { db } = scene.database;
  const owned = new OwnedAccounts();
  owned.add(SEVEN);
  let later = 0;
  const beats: (() => void)[] = [];
  const heartbeat = createHeartbeat({
    db,
    processId: 'owner',
    identity: await ownIdentity(),
    command: 'start',
    version: '0.0.0',
    clock: {
      ...systemClock,
      // The same, seen from here: our own clock has gone on by more than the database's.
      monotonic: () => systemClock.monotonic() + later,
      sleep: (_, signal) =>
        new Promise((resolve, reject) => {
          beats.push(resolve);
          signal?.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    },
    log: { info: () => {}, warn: () => {} },
    onClockBack: () => owned.reopen(db),
  });
  await heartbeat.start();
  const beat = async (): Promise<void> => {
    const before = beats.length;
    beats.at(-1)?.();
    while (beats.length === before) await run('select 1');
  };
  const owners = (): Promise<unknown[]> =>
    run('select owner, token from mirror_sync.account order by _user_id');
  while (beats.length === 0) await run('select 1');
  await beat();
  const [eight] = [{ owner: 'owner', token: '1' }];
  expect(await owners()).toEqual([{ owner: 'owner', token: '1' }, eight]);
  later = 60_000;
  await beat();
  expect(await owners()).toEqual([{ owner: null, token: '2' }, eight]);
  await heartbeat.stop();
});
