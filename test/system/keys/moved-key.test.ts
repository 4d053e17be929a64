import { afterEach, describe, expect, it } from 'vitest';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { startTestSandbox, STILL, type TestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { createFrozenSystem, type System } from '../../support/processes/system.ts';

/** Deletions need not wait. */
const QUICK = { MIRROR_SETTLE: '1s' };

let system: System;
let other: TestSandbox | undefined;
afterEach(async () => {
  await system.close();
  await other?.stop();
  other = undefined;
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
    const env = { ...QUICK, MIRROR_API_URL: other.url };
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
