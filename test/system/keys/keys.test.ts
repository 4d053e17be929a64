import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createGateway, type Gateway } from '../../support/network/gateway.ts';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { createSystem, type System } from '../../support/processes/system.ts';

const GOOD = 'sandbox-key';
const WRONG = 'no-such-key-7f3a';

let system: System;
let gateway: Gateway | undefined;
afterEach(async () => {
  await system.close();
  await gateway?.close();
  gateway = undefined;
});

describe('a key that the service refuses', () => {
  it('keeps sync from no other account', async () => {
    system = await createSystem({ keys: `${GOOD}=1001,second-key=1002` });
    await system.sandbox.control.clock({ freeze: true });
    const env = { MIRROR_API_KEY: `${GOOD},${WRONG},second-key` };
    const { code, stdout, stderr } = await system.run(['sync', '--full'], env);
    expect(code).toBe(3);
    expect(stdout).toMatch(/1002 +watchlist +30/);
    expect(stderr).toMatch(
      /API key [0-9a-f]{8}…: GET \/v1\/ping was answered 401.*set a good MIRROR_API_KEY/,
    );
    expect(await differences(system, 1001)).toEqual([]);
    expect(await differences(system, 1002)).toEqual([]);
  });
});

describe('a wrong key in place of one of two', () => {
  it('is the one problem, of the account too that nobody reads since, before it is late and after', async () => {
    system = await createSystem({ keys: `${GOOD}=1001,second-key=1002` });
    await system.sync([], { env: { MIRROR_API_KEY: `${GOOD},second-key` } });
    const env = { MIRROR_API_KEY: `${GOOD},${WRONG}` };
    const daemon = await system.daemon(env);
    const problem = {
      cause: 'key_refused',
      what: expect.stringMatching(/^the 2nd of MIRROR_API_KEY /) as string,
      affects: ['1002'],
    };
    const told = async (): Promise<unknown> =>
      ((await (await fetch(`${daemon.statusUrl}/api/status`)).json()) as { problems: unknown }).problems;
    await eventually('the problem', async () => expect(await told()).toMatchObject([problem]));
    await system.db.query(
      `update mirror._collections set next_poll_at = now() - interval '1 hour' where _user_id = 1002`,
    );
    const { code, stdout } = await system.run(['status', '--json'], env);
    expect(code).toBe(1);
    expect((JSON.parse(stdout) as { problems: unknown }).problems).toMatchObject([problem]);
    expect(stdout).toContain('"overdue"');
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });
});

describe('a key that the service refuses later', () => {
  it('is replaced by the account’s other key without a pause', async () => {
    system = await createSystem({ keys: `old-key=1001,new-key=1001` });
    gateway = await createGateway(system.sandbox.url);
    const env = { MIRROR_API_URL: gateway.url, MIRROR_API_KEY: 'old-key,new-key' };
    const daemon = await system.daemon(env);
    await eventually('the account', async () => (await differences(system)).length === 0);
    gateway.refuse(({ headers }) =>
      headers.authorization === 'Bearer old-key' ? { status: 401, message: 'revoked' } : undefined,
    );
    await system.sandbox.control.mutate({
      op: 'insert',
      collection: 'research_jobs',
      fields: { status: 'new' },
    });
    expect((await system.run(['sync'], env)).code).toBe(0);
    await eventually('the new row', async () => (await differences(system)).length === 0);
    expect((await system.run(['status'])).code).toBe(0);
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });

  it('leaves the account to a daemon that was given the new key', async () => {
    system = await createSystem({ keys: `old-key=1001,new-key=1001` });
    await system.sandbox.control.clock({ freeze: true });
    gateway = await createGateway(system.sandbox.url);
    const env = { MIRROR_API_URL: gateway.url, MIRROR_API_KEY: 'old-key' };
    const first = await system.daemon(env);
    await eventually('the account', async () => (await differences(system)).length === 0);
    gateway.refuse(({ headers }) =>
      headers.authorization === 'Bearer old-key' ? { status: 401, message: 'revoked' } : undefined,
    );
    expect((await system.run(['sync'], env)).code).toBe(3);
    await first.until('account 1001 has stopped: ');

    await system.sandbox.control.mutate({
      op: 'insert',
      collection: 'research_jobs',
      fields: { status: 'new' },
    });
    const second = await system.daemon({ ...env, MIRROR_API_KEY: 'new-key' });
    await first.until('unless another daemon has a good key');
    await eventually('the new row', async () => (await differences(system)).length === 0);
    const { rows } = await system.db.query(
      `select a.state, p.pid from mirror_sync.account a join mirror_sync.process p on p.process_id = a.owner`,
    );
    expect(rows).toEqual([{ state: 'active', pid: second.child.pid }]);
    expect(await first.stop()).toMatchObject({ code: 0 });
    expect(await second.stop()).toMatchObject({ code: 0 });
  });
});
