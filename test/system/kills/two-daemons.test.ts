import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import {
  createSystem,
  createFrozenSystem,
  type Daemon,
  type System,
} from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

async function twoDaemons(): Promise<{ readonly first: Daemon; readonly second: Daemon }> {
  system = await createFrozenSystem({ latencyMin: 5, latencyMax: 20 });
  const first = await system.daemon();
  await eventually('the first load', async () => (await differences(system)).length === 0);
  const second = await system.daemon();
  await second.until('shares out: 0 of 1 account, as one of 2 daemons');
  return { first, second };
}

async function owner(): Promise<number | undefined> {
  const { rows } = await system.db.query<{ pid: number }>(
    'select p.pid from mirror_sync.account a join mirror_sync.process p on p.process_id = a.owner',
  );
  return rows[0]?.pid;
}

async function newJob(): Promise<void> {
  await system.sandbox.control.mutate({
    op: 'insert',
    collection: 'research_jobs',
    fields: { status: 'completed' },
  });
}

describe('two daemons on one database', () => {
  it('take an account over from one that hangs, which then writes nothing under its old token', async () => {
    const { first, second } = await twoDaemons();
    first.child.kill('SIGSTOP');
    await eventually('the takeover', async () => (await owner()) === second.child.pid);
    await newJob();
    await system.sync();
    const token = async (): Promise<{ token: string }> =>
      (await system.db.query<{ token: string }>('select token from mirror_sync.account')).rows[0] ?? {
        token: '',
      };
    const taken = await token();
    first.child.kill('SIGCONT');
    await eventually('its heartbeat', async () => {
      const alive = 'select 1 from mirror_sync.process where pid = $1 and alive_until > clock_timestamp()';
      return (await system.db.query(alive, [first.child.pid])).rows.length > 0;
    });
    // Under its old token it writes nothing. By the rule an older daemon that is prompt again may take the account once
    // more, with another token; when it stops, the second one has it.
    expect(await first.stop()).toMatchObject({ code: 0 });
    await eventually('the second one to have it', async () => (await owner()) === second.child.pid);
    expect(Number((await token()).token)).toBeGreaterThanOrEqual(Number(taken.token));
    expect(await differences(system)).toEqual([]);
    expect(await second.stop()).toMatchObject({ code: 0 });
  });
});

describe('two passes at a time without a daemon', () => {
  it('do not mix: the second one ends with 3 and says who holds the account', async () => {
    system = await createSystem({ latencyMin: 1_000, latencyMax: 1_000 });
    const first = system.begin(['sync', '--full']);
    await eventually('its first page', async () => (await system.sandbox.control.counters()).requests > 2);
    const { code, stdout } = await system.run(['sync']);
    expect(code).toBe(3);
    expect(stdout).toContain(`account 1001 is held by "research-mirror sync" (process ${first.child.pid})`);
    expect((await first.ended).code).toBe(0);
  });
});
