import { expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { createFleetStore } from '../../../../src/db/ownership/fleet-store.ts';
import { createHeartbeat, type Heartbeat } from '../../../../src/db/ownership/heartbeat.ts';
import { ownIdentity, type ProcessIdentity } from '../../../../src/db/ownership/process-identity.ts';
import { installed } from '../../../support/databases/installed.ts';

const scene = installed();
const { run } = scene;
const own = await ownIdentity();

/** Another program's row: as of a heartbeat so many seconds ago. */
async function put(
  processId: string,
  seconds: number,
  { machine = 'another', pid = 1, startedTicks = '1' }: Partial<ProcessIdentity> = {},
): Promise<void> {
  await run(`insert into mirror_sync.process values ('${processId}', 'start', '1', 'host', '${machine}', ${pid},
    '${startedTicks}', now(), clock_timestamp() + interval '12 s' - interval '${seconds} s')`);
}

function heartbeat(processId: string): Heartbeat {
  const log = { info: () => {}, warn: () => {} };
  return createHeartbeat({
    db: scene.database.db,
    processId,
    identity: own,
    clock: systemClock,
    log,
    command: 'start',
    version: '0.0.0',
  });
}

it('sees who lives, how fresh, what each serves, and which accounts have which owner', async () => {
  const store = createFleetStore(scene.database.db, 'self', own);
  const self = heartbeat('self');
  await self.start();
  await put('fresh', 1);
  await put('late', 8);
  await put('silent', 13);
  // Of this machine, and its process ID is another program's by now.
  await put('dead', 1, { ...own, startedTicks: 'not this' });
  await run(`update mirror_sync.process set serves = '{7,9007199254740993}' where process_id = 'fresh'`);
  await run(`insert into mirror_sync.account (_user_id, owner, token, state, created_at) values
    (9, 'fresh', 1, 'stopped', now()), (10, null, 1, 'retired', now())`);
  await store.offer(['7', '8']);

  const { living, accounts, retired, expiresInMs } = await store.look();
  expect([...living.keys()].toSorted()).toEqual(['fresh', 'late', 'self']);
  expect(living.get('self')).toMatchObject({ serves: new Set(['7', '8']), prompt: true, here: true });
  expect(living.get('fresh')).toMatchObject({
    serves: new Set(['7', '9007199254740993']),
    prompt: true,
    here: false,
  });
  // An older program, or a command.
  expect(living.get('late')).toMatchObject({ serves: undefined, prompt: false });
  expect(accounts.filter(({ userId }) => userId === '9')).toEqual([
    expect.objectContaining({ userId: '9', owner: 'fresh' }),
  ]);
  expect(accounts.map(({ userId }) => userId)).not.toContain('10');
  expect(retired).toEqual(new Set(['10']));
  expect(expiresInMs).toBeGreaterThan(0);
  expect(expiresInMs).toBeLessThanOrEqual(4_000);

  await store.withdraw();
  expect((await store.look()).living.get('self')?.serves).toBeUndefined();
  await self.stop();
});

it('a heartbeat tells whether there are others that take part, however they are called', async () => {
  // Those of the test before, which live on for some seconds.
  await run('delete from mirror_sync.process');
  const alone = heartbeat('alone');
  await put('other', 0);
  await alone.start();
  expect(alone.hasOthers()).toBe(false);
  await alone.stop();
  await run(`update mirror_sync.process set serves = '{}' where process_id = 'other'`);
  const beside = heartbeat('beside');
  await beside.start();
  expect(beside.hasOthers()).toBe(true);
  await beside.stop();
  await run(`update mirror_sync.process set alive_until = now() - interval '1 s' where process_id = 'other'`);
  const after = heartbeat('after');
  await after.start();
  expect(after.hasOthers()).toBe(false);
  await after.stop();
});
