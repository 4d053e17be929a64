import { afterEach, describe, expect, it } from 'vitest';
import { differences, rowVersions } from '../../support/mirror/mirror-truth.ts';
import { startTestSandbox, STILL, type TestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { createFrozenSystem, type System } from '../../support/processes/system.ts';

const GOOD = 'sandbox-key';
const WRONG = 'no-such-key-7f3a';

let system: System;
let other: TestSandbox | undefined;
afterEach(async () => {
  await system.close();
  await other?.stop();
  other = undefined;
});

describe('a key that the service refuses', () => {
  it('keeps sync from no other account', async () => {
    system = await createFrozenSystem({ keys: `${GOOD}=1001,second-key=1002` });
    const env = { MIRROR_API_KEY: `${GOOD},${WRONG},second-key` };
    const { code, stdout, stderr } = await system.run(['sync', '--full'], env);
    expect(code).toBe(3);
    expect(stdout).toMatch(/1002 +watchlist +30/);
    expect(stderr).toMatch(/API key [0-9a-f]{8}…: GET \/v1\/ping returned 401.*Set a working key in MIRROR_API_KEY/);
    expect(await differences(system, 1001)).toEqual([]);
    expect(await differences(system, 1002)).toEqual([]);
  });
});

describe('a base URL that leads to another service', () => {
  it('is refused by sync, verify, submit and start for an account of the first one: nothing is asked there', async () => {
    system = await createFrozenSystem();
    await system.sync(['--full']);
    const before = await rowVersions(system.db);
    // The same key and the same user_id by chance, and other data.
    other = await startTestSandbox({ ...STILL, limits: 'off', seed: 7, jobs: 40, lists: 1 });
    // Deletions need not wait.
    const env = { MIRROR_SETTLE: '1s', MIRROR_API_URL: other.url };
    const remedy = `${system.sandbox.url}, not ${other.url}`;
    const submit = ['submit', 'research', '--data', '{"company_url":"https://a.example"}'];
    for (const command of [['sync', '--full'], ['sync'], ['verify'], submit]) {
      const { code, stdout, stderr } = await system.run(command, env);
      expect(await rowVersions(system.db)).toBe(before);
      expect([command, code]).toEqual([command, 3]);
      expect(stdout + stderr).toContain(remedy);
    }
    const daemon = await system.daemon(env);
    await daemon.until(remedy);
    const status = await system.run(['status'], env);
    expect(status.code).toBe(1);
    expect(status.stdout.replaceAll(/\s+/g, ' ')).toContain(remedy);
    expect(await daemon.stop()).toMatchObject({ code: 0 });
    expect((await other.control.counters()).requests).toBe(0);
    expect(await differences(system)).toEqual([]);

    // The first service still is the account's.
    expect((await system.run(['sync', '--full'])).code).toBe(0);
    expect((await system.run(['status'])).code).toBe(0);
  });
});
