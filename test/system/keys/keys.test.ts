import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { createSystem, createFrozenSystem, type System } from '../../support/processes/system.ts';

const GOOD = 'sandbox-key';
const WRONG = 'no-such-key-7f3a';

let system: System;
afterEach(() => system.close());

describe('a key that the service refuses', () => {
  it('keeps sync from no other account', async () => {
    system = await createFrozenSystem({ keys: `${GOOD}=1001,second-key=1002` });
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
  it('is the one problem, also of the account that is no longer read, before it is late and after', async () => {
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
