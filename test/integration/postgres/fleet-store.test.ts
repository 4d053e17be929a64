import { expect, it } from 'vitest';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createFleetStore, OwnedAccounts } from '../../../src/postgres/lease.ts';
import {
  createHeartbeat,
  type HeartbeatOptions,
  ownIdentity,
  type ProcessIdentity,
} from '../../../src/postgres/heartbeat.ts';
import type { Fence } from '../../../src/postgres/fenced.ts';
import { installed } from '../../support/databases/installed.ts';

const scene = installed();
const { run } = scene;
const own = await ownIdentity();

/** Stores another program's row, with a heartbeat some seconds ago. */
function put(
  processId: string,
  seconds: number,
  { machine = 'another', pid = 1, startedTicks = '1' }: Partial<ProcessIdentity> = {},
) {
  return run(`insert into mirror_sync.process values ('${processId}', 'start', '1', 'host', '${machine}', ${pid},
    '${startedTicks}', now(), clock_timestamp() + interval '12 s' - interval '${seconds} s')`);
}

function heartbeat(processId: string, more: Partial<HeartbeatOptions> = {}) {
  const log = { info: () => {}, warn: () => {} };
  const common = { db: scene.database.db, processId, identity: own, clock: systemClock, log };
  return createHeartbeat({ ...common, command: 'start', version: '9.9.9', ...more });
}

const fenceOf = (userId: string, token = '1'): Fence => ({ userId, owner: 'owner', token });
/** A process's look for accounts that name it while it does not work on them. */
const looks = (owned: OwnedAccounts) => () => owned.releaseStrays(scene.database.db, 'owner');

it('a look shows living processes, how fresh they are, what they serve, and each account’s owner', async () => {
  const store = createFleetStore(scene.database.db, 'self', own);
  const self = heartbeat('self');
  await self.start();
  await put('fresh', 1);
  await put('late', 8);
  await put('silent', 13);
  // On this machine, with a process ID that is another program's by now.
  await put('dead', 1, { ...own, startedTicks: 'not this' });
  await run(`update mirror_sync.process set serves = '{7,9007199254740993}' where process_id = 'fresh'`);
  await run(`insert into mirror_sync.account (_user_id, owner, token, state, created_at) values
    (9, 'fresh', 1, 'stopped', now()), (10, null, 1, 'retired', now())`);
  await store.offer(['7', '8']);

  const { living, accounts } = await store.look();
  // The oldest first: the heartbeat's row was made before the others. The late one is an older program, or a command.
  expect(living).toMatchObject([
    { processId: 'self', serves: new Set(['7', '8']), prompt: true, here: true, version: '9.9.9' },
    {
      processId: 'fresh',
      serves: new Set(['7', '9007199254740993']),
      prompt: true,
      here: false,
      version: '1',
    },
    { processId: 'late', serves: undefined, prompt: false },
  ]);
  const [, fresh, late] = living;
  expect(fresh?.leftMs).toBeGreaterThan(8_000);
  expect(late?.leftMs).toBeLessThanOrEqual(4_000);
  expect(accounts.get('9')).toEqual({ userId: '9', owner: 'fresh', retired: false });
  expect(accounts.get('10')).toEqual({ userId: '10', owner: null, retired: true });

  await store.withdraw();
  expect((await store.look()).living[0]?.serves).toBeUndefined();
  await self.stop();
});

it('a heartbeat tells whether the fleet has other processes, whatever their command', async () => {
  // Processes of the test before live on for some seconds.
  await run('delete from mirror_sync.process');
  await put('other', 0);
  for (const [change, hasOthers] of [
    ['serves = null', false],
    [`serves = '{}'`, true],
    [`alive_until = now() - interval '1 s'`, false],
  ] as const) {
    await run(`update mirror_sync.process set ${change} where process_id = 'other'`);
    const beating = heartbeat('self');
    await beating.start();
    expect(beating.hasOthers()).toBe(hasOthers);
    await beating.stop();
  }
});

it('a heartbeat tells when its process was asleep or without the database', async () => {
  let sleptMs = 0;
  const clock: Clock = {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + sleptMs,
    // It beats often.
    sleep: (_, signal) => systemClock.sleep(100, signal),
  };
  let beats = 0;
  const beating = heartbeat('self', { clock, afterBeat: async () => void (beats += 1) });
  const beaten = () => {
    const before = beats;
    return eventually('two heartbeats', () => beats >= before + 2);
  };
  await beating.start();
  await beaten();
  expect(beating.interruptedAt()).toBe(Number.NEGATIVE_INFINITY);

  sleptMs = 100_000;
  const woken = clock.monotonic();
  expect(beating.interruptedAt()).toBeGreaterThanOrEqual(woken);
  await beaten();
  const asleep = beating.interruptedAt();
  expect(asleep).toBeGreaterThanOrEqual(woken);
  await beaten();
  expect(beating.interruptedAt()).toBe(asleep);

  await run('alter table mirror_sync.process rename to away');
  await eventually('a failure', () => beating.interruptedAt() > asleep);
  await run('alter table mirror_sync.away rename to process');
  const back = clock.monotonic();
  await beaten();
  expect(beating.interruptedAt()).toBeGreaterThanOrEqual(back);
  await beating.stop();
});

it('a process releases accounts that name it while it does not work on them, at the second look', async () => {
  const owned = new OwnedAccounts();
  const look = looks(owned);
  const eight = fenceOf('8');
  // It works on one account. The row of another went back to when it did. A third belongs to another process.
  owned.add(eight);
  await run(`insert into mirror_sync.account (_user_id, owner, token, created_at) values (9, 'other', 1, now())`);
  expect([await look(), await look()]).toEqual([[], ['7']]);
  expect(await run('select _user_id, owner, token from mirror_sync.account order by 1')).toEqual([
    { _user_id: '7', owner: null, token: '1' },
    { _user_id: '8', owner: 'owner', token: '1' },
    { _user_id: '9', owner: 'other', token: '1' },
  ]);
  // An account taken between two looks is not known at the first one.
  await run(`update mirror_sync.account set owner = 'owner', token = 2 where _user_id = 7`);
  expect(await look()).toEqual([]);
  owned.add(fenceOf('7', '2'));
  expect(await look()).toEqual([]);
  owned.remove(eight);
  expect([await look(), await look()]).toEqual([[], ['8']]);
  // Several at a time, but not one that it has taken again since the look before.
  await run(`update mirror_sync.account set owner = 'owner', token = 5`);
  expect(await look()).toEqual([]);
  await run(`update mirror_sync.account set token = 6 where _user_id = 9`);
  owned.add(fenceOf('7', '4'));
  expect((await look()).toSorted()).toEqual(['7', '8']);
  expect(await run('select owner from mirror_sync.account where _user_id = 9')).toEqual([{ owner: 'owner' }]);
});

it('a process ends its work on accounts whose row no longer names it, even with nothing to write', async () => {
  const owned = new OwnedAccounts();
  const ended: string[] = [];
  const seven = fenceOf('7');
  for (const fence of [seven, fenceOf('8')]) owned.add(fence, () => void ended.push(fence.userId));
  const look = looks(owned);
  await look();
  expect(ended).toEqual([]);
  // As the process does that notices that the database went back.
  await run('update mirror_sync.account set owner = null, token = token + 1 where _user_id = 7');
  await look();
  expect(ended).toEqual(['7']);
  await run(`update mirror_sync.account set owner = 'other', token = 2 where _user_id = 8`);
  owned.remove(seven);
  await look();
  expect(ended).toEqual(['7', '8']);
});
