import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createMirrorOf020, HEARTBEAT_OF_020 } from '../../support/databases/mirror-of-0.2.0.ts';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { createFrozenSystem, type System } from '../../support/processes/system.ts';

const ENV = { MIRROR_API_KEY: 'key-of-1001,key-of-1002', MIRROR_SETTLE: '1s' };
const DROP = '0034_dead_state';
/** The fixture's service. */
const ACCOUNTS = {
  keys: 'key-of-1001=1001,key-of-1002=1002',
  jobs: 14,
  bulkJobs: 2,
  lists: 3,
  itemsPerList: 4,
  watchlist: 5,
};

let system: System;
/** Keeps a process of 0.2.0 alive, as its heartbeats do. */
let beating: NodeJS.Timeout | undefined;
beforeEach(async () => {
  system = await createFrozenSystem(ACCOUNTS, await createMirrorOf020());
  // As `accounts move` says it: the emulated service has another port.
  await system.db.query('update mirror_sync.account set origin = $1', [system.sandbox.url]);
  await system.db.query(HEARTBEAT_OF_020, [12]);
  beating = setInterval(() => void system.db.query(HEARTBEAT_OF_020, [12]).catch(() => {}), 1_000);
});
afterEach(async () => {
  clearInterval(beating);
  await system.close();
});

const madeDrops = () => system.one<boolean>('select exists (select from mirror_sync.migration where name = $1)', DROP);

it('a daemon is ready beside one of 0.2.0, and drops what that one uses as soon as it is gone', async () => {
  const daemon = await system.daemon(ENV);
  await eventually('the daemon to be ready', async () => (await fetch(`${daemon.statusUrl}/readyz`)).ok);
  await daemon.until(`${DROP} waits until no program older than 0.3.0 runs`);
  const migrated = await system.run(['migrate'], ENV);
  expect(migrated).toMatchObject({ code: 1 });
  expect(migrated.stdout).toContain(
    `works with this version; ${DROP} waits until no program older than 0.3.0 runs: "start" of 0.2.0`,
  );
  expect(migrated.stderr).toContain('you need to restore a backup from before this migration');
  const checked = await system.run(['migrate', '--check'], ENV);
  expect(checked).toMatchObject({ code: 1 });
  expect(checked.stdout).toContain(`is behind by 1 migration: ${DROP}`);
  expect(await madeDrops()).toBe(false);
  const expectEqual = async (): Promise<void> => {
    await system.sync(['--full', '--accept-deletions'], { env: ENV });
    for (const user of [1001, 1002]) expect(await differences(system, user)).toEqual([]);
  };
  await expectEqual();

  clearInterval(beating);
  await eventually('the drop', madeDrops);
  expect(await system.run(['migrate', '--check'], ENV)).toMatchObject({ code: 0 });
  const insert = { op: 'insert', collection: 'research_jobs', user: 1002 } as const;
  await system.sandbox.control.mutate({ ...insert, fields: { status: 'queued' } });
  await expectEqual();
  expect(await daemon.stop()).toMatchObject({ code: 0 });
  expect(daemon.output()).toContain(`migrated: ${DROP}`);
});
