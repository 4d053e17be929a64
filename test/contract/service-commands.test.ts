import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../support/postgres/postgres.ts';
import { makeFolder, runProgram, startProgram, type Running } from '../support/processes/program.ts';
import { createSystem, type System } from '../support/processes/system.ts';

let system: System;
beforeAll(async () => {
  const faults = { fault500: 0.1, faultReset: 0.05, faultHtml: 0.05 };
  system = await createSystem({ keys: 'some-key=7', jobs: 600, lists: 25, ...faults }, await createTestDatabase());
});
afterAll(() => system.close());

describe('sync', () => {
  it('ends with 0 and nothing but JSON on stdout, whatever the service does', async () => {
    const outcome = await system.run(['sync', '--json'], { LOG_LEVEL: 'trace' });
    expect(outcome.code).toBe(0);
    expect(JSON.parse(outcome.stdout)).toMatchObject({ rateLimited: 0 });
    expect(outcome.stderr).toContain('reading: ');
    expect(outcome.stderr).not.toContain('\u001b');
    const { rows } = await system.db.query('select count(*) >= 600 as all from mirror.research_jobs');
    expect(rows).toEqual([{ all: true }]);
  });
});

describe('start', () => {
  it('logs JSON lines to stdout, works beside other commands, and ends with 0 when it is told to stop', async () => {
    const daemon = await system.daemon({ LOG_LEVEL: 'trace' });
    const beside = await system.run(['sync', 'lists']);
    expect(beside).toMatchObject({ code: 0, stdout: expect.stringMatching(/7 +lists +25/) as string });
    const status = await system.run(['status', '--json']);
    expect(JSON.parse(status.stdout)).toMatchObject({
      processes: [{ command: 'start', alive: true }],
    });
    const outcome = await daemon.stop();
    expect(outcome).toMatchObject({ code: 0, signal: null, stderr: '' });
    for (const line of outcome.stdout.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
  });

  it('ends when its log is no longer read', async () => {
    const daemon = await system.daemon({ LOG_LEVEL: 'trace' });
    daemon.child.stdout.destroy();
    expect(await daemon.ended).toMatchObject({ code: 0, signal: null });
  });
});

describe('demo', () => {
  const run = (...args: readonly string[]) => runProgram(args, { cwd: system.cwd });

  it('mirrors without any configuration, is found by sql and status, and ends with 0 at Ctrl-C', async () => {
    const demo = startProgram(['demo'], { cwd: system.cwd });
    await demo.until('mirrored: ');
    const rows = await run('sql', '--json', 'select sum(live_rows) > 0 as some from freshness');
    expect(JSON.parse(rows.stdout)).toEqual({ rows: [{ some: true }] });
    const status = await run('status');
    expect(status).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^healthy · .*data\/demo/) as string,
    });
    const page = /status page +(http:\S+)/.exec(demo.output())?.[1] ?? '';
    const second = await run('demo');
    expect(second).toMatchObject({ code: 0, stdout: '' });
    expect(second.stderr).toContain('a demo is already running here');
    expect(second.stderr).toContain(page);
    expect(page).toMatch(/^http/);
    // Its list is read again once it was deleted there; whatever passes is equal to the service.
    const verified = await run('verify', 'watchlist', '--json');
    expect(verified.stderr).toContain('using the demo, which runs here');
    expect(JSON.parse(verified.stdout)).toMatchObject({ equal: true });
    expect(await run('sync', 'account', '--demo')).toMatchObject({ code: 0 });
    expect(await run('sync', 'watchlist', '--full', '--demo')).toMatchObject({ code: 0 });
    const apart = await run('quarantine', 'list', 'watchlist', '--json');
    expect(apart.stdout).toContain('value overflows numeric format');
    demo.child.kill('SIGINT');
    expect(await demo.ended).toMatchObject({ code: 0, signal: null, stdout: '' });
    // Nothing runs any more; the data is still there to be asked.
    expect((await run('sql', 'select 1 from freshness limit 1')).code).toBe(0);
  });

  it('has the same service and page at each start, also after a kill, and says what uses their ports', async () => {
    const own = makeFolder();
    const places: string[] = [];
    let demo: Running | undefined;
    const start = async (): Promise<Running> => {
      demo = startProgram(['demo'], { cwd: own.path });
      await demo.until('status page ');
      const text = demo.output();
      const [, service] = /emulated service +(http:\S+)/.exec(text) ?? [];
      const [, page] = /status page +(http:\S+)/.exec(text) ?? [];
      places.push(`${service} ${page}`);
      return demo;
    };
    try {
      const first = await start();
      await first.until('mirrored: ');
      expect(await runProgram(['demo'], { cwd: own.path })).toMatchObject({ code: 0 });
      first.child.kill('SIGKILL');
      await first.ended;
      expect((await runProgram(['sync', '--demo'], { cwd: own.path })).code).toBe(3);
      const second = await start();
      second.child.kill('SIGINT');
      expect(await second.ended).toMatchObject({ code: 0, signal: null });
      expect(places[0]).toMatch(/^http\S+ http/);
      expect(places[1]).toBe(places[0]);

      // Another program has its ports by now, even one that says nothing that a service would.
      const { port } = new URL(places[0]?.split(' ')[0] ?? '');
      const control = readFileSync(join(own.path, 'data/demo/control-port'), 'utf8');
      const strangers = [port, control].map((each) =>
        createServer((_, response) => response.end('hello')).listen(Number(each), '127.0.0.1'),
      );
      await Promise.all(strangers.map((each) => once(each, 'listening')));
      const refused = await runProgram(['demo'], { cwd: own.path });
      for (const each of strangers) each.close();
      expect(refused).toMatchObject({ code: 3, stdout: '' });
      expect(refused.stderr).toBe(
        `research-mirror: another program uses port ${port}, where the demo's mirror expects its service ` +
          '(data/demo/service-port). Stop that program, or remove the folder data/demo to start over.\n',
      );
    } finally {
      demo?.child.kill('SIGINT');
      await demo?.ended;
      own.remove();
    }
  });

  it('keeps away from an account and a database that are configured', async () => {
    const demo = system.begin(['demo'], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/x' });
    await demo.until('status page ');
    demo.child.kill('SIGINT');
    expect(await demo.ended).toMatchObject({ code: 0 });
  });
});
