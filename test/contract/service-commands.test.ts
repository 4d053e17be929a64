import { once } from 'node:events';
import { createServer } from 'node:http';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox, type Sandbox } from '@research-mirror/sandbox/start-sandbox';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createTestDatabase, type TestDatabase } from '../support/postgres/postgres.ts';
import {
  makeFolder,
  runProgram,
  startProgram,
  type Outcome,
  type Running,
} from '../support/processes/program.ts';
import { openTestDatabase } from '../support/databases/migrated-database.ts';

const KEY = 'key-that-nobody-may-see';
const folder = makeFolder();
const cwd = folder.path;
let sandbox: Sandbox;
let database: TestDatabase;
const env = (more: Record<string, string> = {}): Record<string, string> => ({
  DATABASE_URL: database.url,
  MIRROR_API_URL: sandbox.url,
  MIRROR_API_KEY: KEY,
  MIRROR_HTTP_PORT: '0',
  ...more,
});

beforeAll(async () => {
  const faults = { fault500: 0.1, faultReset: 0.05, faultHtml: 0.05 };
  sandbox = await startSandbox({
    port: 0,
    controlPort: 0,
    keys: `${KEY}=7`,
    limits: 'off',
    jobs: 600,
    ...faults,
  });
  database = await createTestDatabase();
});
afterAll(async () => {
  await sandbox.stop();
  await database.drop();
  folder.remove();
});

function showsNoSecret({ stdout, stderr }: Outcome): void {
  for (const secret of [KEY, new URL(database.url).password, Buffer.from(KEY).toString('base64')]) {
    expect(stdout + stderr).not.toContain(secret);
  }
}

describe('sync', () => {
  it('ends with 0 and nothing but JSON on stdout, and shows no secret, whatever the service does', async () => {
    const outcome = await runProgram(['sync', '--json'], { cwd, env: env({ LOG_LEVEL: 'trace' }) });
    expect(outcome.code).toBe(0);
    expect(JSON.parse(outcome.stdout)).toMatchObject({ rateLimited: 0 });
    expect(outcome.stderr).toContain('reading: ');
    expect(outcome.stderr).not.toContain('\u001b');
    showsNoSecret(outcome);
    const open = await openTestDatabase(database.url);
    const { rows } = await sql`select count(*) >= 600 as all from mirror.research_jobs`.execute(open.kysely);
    await open.close();
    expect(rows).toEqual([{ all: true }]);
  });

  it('ends with 3 when the key is wrong, and does not show it', async () => {
    const wrong = 'wrong-key-that-nobody-may-see';
    const outcome = await runProgram(['sync'], {
      cwd,
      env: env({ LOG_LEVEL: 'trace', MIRROR_API_KEY: wrong }),
    });
    expect(outcome.code).toBe(3);
    expect(outcome.stdout + outcome.stderr).not.toContain(wrong);
    expect(outcome.stderr).toMatch(/key/i);
  });
});

describe('start', () => {
  it('logs JSON lines to stdout, works beside other commands, and ends with 0 when it is told to stop', async () => {
    const daemon = startProgram(['start'], { cwd, env: env({ LOG_LEVEL: 'trace' }) });
    await daemon.until('status page http://127.0.0.1:');
    const beside = await runProgram(['sync', 'lists'], { cwd, env: env() });
    expect(beside).toMatchObject({ code: 0, stdout: expect.stringMatching(/7 +lists +25/) as string });
    const status = await runProgram(['status', '--json'], { cwd, env: env() });
    expect(JSON.parse(status.stdout)).toMatchObject({
      processes: [{ command: 'start', alive: true }],
    });
    daemon.child.kill('SIGTERM');
    const outcome = await daemon.ended;
    expect(outcome).toMatchObject({ code: 0, signal: null, stderr: '' });
    for (const line of outcome.stdout.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
    showsNoSecret(outcome);
  });

  it('ends when nobody reads its log any more', async () => {
    const daemon = startProgram(['start'], { cwd, env: env({ LOG_LEVEL: 'trace' }) });
    await daemon.until('status page http://127.0.0.1:');
    daemon.child.stdout.destroy();
    expect(await daemon.ended).toMatchObject({ code: 0, signal: null });
  });
});

describe('demo', () => {
  it('mirrors without any configuration, is found by sql and status, and ends with 0 at Ctrl-C', async () => {
    const demo = startProgram(['demo'], { cwd });
    await demo.until('mirrored: ');
    const rows = await runProgram(['sql', '--json', 'select sum(live_rows) > 0 as some from freshness'], {
      cwd,
    });
    expect(JSON.parse(rows.stdout)).toEqual({ rows: [{ some: true }] });
    const status = await runProgram(['status'], { cwd });
    expect(status).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^healthy · .*data\/demo/) as string,
    });
    const page = /status page +(http:\S+)/.exec(demo.output())?.[1] ?? '';
    const second = await runProgram(['demo'], { cwd });
    expect(second).toMatchObject({ code: 0, stdout: '' });
    expect(second.stderr).toContain('a demo runs here already');
    expect(second.stderr).toContain(page);
    expect(page).toMatch(/^http/);
    // Its list is read again once it was deleted there; whatever passes is equal to the service.
    const verified = await runProgram(['verify', 'watchlist', '--json'], { cwd });
    expect(verified.stderr).toContain('this is about the demo');
    expect(JSON.parse(verified.stdout)).toMatchObject({ equal: true });
    expect(await runProgram(['sync', 'account', '--demo'], { cwd })).toMatchObject({ code: 0 });
    expect(await runProgram(['sync', 'watchlist', '--full', '--demo'], { cwd })).toMatchObject({ code: 0 });
    const apart = await runProgram(['quarantine', 'list', 'watchlist', '--json'], { cwd });
    expect(apart.stdout).toContain('value overflows numeric format');
    demo.child.kill('SIGINT');
    expect(await demo.ended).toMatchObject({ code: 0, signal: null, stdout: '' });
    // Nothing runs any more; the data is still there to be asked.
    expect((await runProgram(['sql', 'select 1 from freshness limit 1'], { cwd })).code).toBe(0);
  });

  it('goes on with its mirror at each start: the same service, healthy, no account stopped', async () => {
    const own = makeFolder();
    const { path } = own;
    const services: (string | undefined)[] = [];
    const pages: (string | undefined)[] = [];
    const demos: Running[] = [];
    const start = (): Running => {
      const demo = startProgram(['demo'], { cwd: path });
      demos.push(demo);
      return demo;
    };
    const begun = async (demo: Running): Promise<void> => {
      await demo.until('status page ');
      services.push(/emulated service +(http:.+)/.exec(demo.output())?.[1]);
      pages.push(/status page +(http:\S+)/.exec(demo.output())?.[1]);
      const decided = await eventually('the account being mirrored, or refused', async () => {
        const { stdout } = await runProgram(['status', '--json'], { cwd: path });
        const report = JSON.parse(stdout) as { accounts: { state: string; owner: string | null }[] };
        return report.accounts.some(({ state, owner }) => state === 'stopped' || owner !== null) && report;
      });
      expect(decided).toMatchObject({
        problems: [],
        healthy: true,
        accounts: [{ state: 'active', error: null }],
      });
    };
    const stop = async (demo: Running): Promise<void> => {
      demo.child.kill('SIGINT');
      expect(await demo.ended).toMatchObject({ code: 0, signal: null });
    };
    try {
      const first = start();
      await first.until('mirrored: ');
      await begun(first);
      await stop(first);
      const second = start();
      await begun(second);
      expect(await runProgram(['demo'], { cwd: path })).toMatchObject({ code: 0 });
      await stop(second);
      // Of one that was killed nothing is in the way.
      const third = start();
      await begun(third);
      third.child.kill('SIGKILL');
      await third.ended;
      expect((await runProgram(['sync', '--demo'], { cwd: path })).code).toBe(3);
      const fourth = start();
      await begun(fourth);
      await stop(fourth);
      expect(await runProgram(['sync', '--demo'], { cwd: path })).toMatchObject({ code: 3, stdout: '' });
      expect(services[0]).toBeDefined();
      expect(new Set(services).size).toBe(1);
      expect(new Set(pages).size).toBe(1);

      // Whoever else has its port by now, even one who says nothing that a service would.
      const { port } = new URL(services[0]?.split(' ')[0] ?? '');
      const stranger = createServer((_, response) => response.end('hello'));
      await once(stranger.listen(Number(port), '127.0.0.1'), 'listening');
      try {
        const refused = await runProgram(['demo'], { cwd: path });
        expect(refused).toMatchObject({ code: 3, stdout: '' });
        expect(refused.stderr).toBe(
          `research-mirror: something else uses port ${port}, at which the demo's mirror knows its service ` +
            '(data/demo/service-port): stop what uses it, or begin anew by removing the folder data/demo\n',
        );
      } finally {
        stranger.close();
      }
    } finally {
      // Those that a failure left; one that has ended takes no signal.
      for (const { child } of demos) child.kill('SIGINT');
      await Promise.all(demos.map(({ ended }) => ended));
      own.remove();
    }
  });

  it('keeps away from an account and a database that are configured', async () => {
    const demo = startProgram(['demo'], {
      cwd,
      env: env({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/x' }),
    });
    await demo.until('status page ');
    demo.child.kill('SIGINT');
    expect(await demo.ended).toMatchObject({ code: 0 });
  });
});
