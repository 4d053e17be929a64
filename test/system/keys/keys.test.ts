import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { startTestSandbox, STILL, type TestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { createSystem, createFrozenSystem, type System } from '../../support/processes/system.ts';

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

/** What the mirror has of account 1001's jobs: live rows by ID, and those marked deleted. */
async function jobs(): Promise<{ live: string[]; deleted: string[] }> {
  const { rows } = await system.db.query<{ job_id: string; gone: boolean }>(
    `select job_id, _deleted_at is not null as gone from mirror.research_jobs where _user_id = 1001 order by job_id`,
  );
  const ids = (gone: boolean): string[] => rows.filter((row) => row.gone === gone).map((row) => row.job_id);
  return { live: ids(false), deleted: ids(true) };
}

describe('a base URL that leads to another service', () => {
  it('is refused by sync, verify and start for an account of the first one: nothing is asked there', async () => {
    system = await createFrozenSystem();
    await system.sync(['--full']);
    const before = await jobs();
    // The same key and the same user_id by chance, and other data.
    other = await startTestSandbox({ ...STILL, limits: 'off', seed: 7, jobs: 40, lists: 1 });
    // Deletions need not wait.
    const env = { MIRROR_SETTLE: '1s', MIRROR_API_URL: other.url };
    const remedy = `${system.sandbox.url}, not ${other.url}`;
    for (const command of [['sync', '--full'], ['sync'], ['verify']]) {
      const { code, stdout, stderr } = await system.run(command, env);
      expect(await jobs()).toEqual(before);
      expect([command, code]).toEqual([command, 3]);
      expect(stdout + stderr).toContain(remedy);
    }
    const submitted = await system.run(
      ['submit', 'research', '--data', '{"company_url":"https://a.example"}'],
      env,
    );
    expect(submitted.code).toBe(3);
    expect(submitted.stderr).toContain(remedy);

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
