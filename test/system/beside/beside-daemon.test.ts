import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { LAUNCHER } from '../../support/processes/program.ts';
import { createReaderLogin } from '../../support/postgres/reader-login.ts';
import { createSystem, type Daemon, type Environment, type System } from '../../support/processes/system.ts';

let system: System;
let daemon: Daemon;
// The embedded server: commands must find it by the data folder alone.
const EMBEDDED: Environment = { DATABASE_URL: undefined, MIRROR_PG_PORT: '0' };

beforeAll(async () => {
  system = await createSystem({ latencyMin: 5, latencyMax: 30 });
  await system.sandbox.control.clock({ freeze: true });
  daemon = await system.daemon();
});
afterAll(() => system.close());

/** `command | head -1`, as a shell runs it. */
function firstLine(
  args: string,
  env: Environment,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const child = spawn('sh', ['-c', `'${process.execPath}' '${LAUNCHER}' ${args} | head -1`], {
    cwd: system.cwd,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (stdout += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (stderr += part));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve({ stdout, stderr }));
  });
}

describe('beside a running daemon', () => {
  it('sync is carried out by the daemon, and 0 means that what was new at its beginning is here', async () => {
    const [id = ''] = await system.sandbox.control.mutate({
      op: 'insert',
      collection: 'research_jobs',
      fields: { status: 'queued' },
    });
    const report = await system.sync();
    const { rows } = await system.db.query('select 1 from mirror.research_jobs where job_id = $1', [id]);
    expect(rows).toHaveLength(1);
    expect(report.collections.map(({ collection, error }) => [collection, error])).toEqual([
      ['account', null],
      ['research_jobs', null],
      ['bulk_research_jobs', null],
      ['lists', null],
      ['watchlist', null],
      ['list_items', null],
    ]);
    expect((await system.db.query('select command from mirror_sync.process')).rows).toEqual([
      { command: 'start' },
    ]);
    expect((await system.sandbox.control.counters()).maxInFlightPerScope).toBe(1);
  });

  it('sync --full reads everything, also what no poll would see', async () => {
    const [oldest = ''] = (await system.sandbox.control.truth({ collection: 'research_jobs' })).slice(-1);
    const id = String((JSON.parse(oldest) as { job_id: number }).job_id);
    await system.sandbox.control.mutate({
      op: 'update',
      collection: 'research_jobs',
      id,
      fields: { status: 'restored by hand' },
      silent: true,
    });
    const { stdout, stderr, code } = await system.run(['sync', '--full']);
    expect({ code }).toEqual({ code: 0 });
    // Unless the minute's poll, whose one page is the whole list here, was faster.
    expect(stdout).toMatch(/1001 +research_jobs +301 +0 +(1 +0 +300|0 +0 +301)/);
    expect(stderr).toMatch(/^reading: .*research_jobs 301/m);
    await eventually('equality', async () => (await differences(system)).length === 0);
  });

  it('several syncs at a time all end well', async () => {
    const reports = await Promise.all([system.sync(), system.sync(['--full']), system.sync(['lists'])]);
    for (const { collections } of reports) {
      expect(collections.filter(({ error }) => error !== null)).toEqual([]);
    }
    expect((await system.sandbox.control.counters()).maxInFlightPerScope).toBe(1);
  });

  it('status, sql and migrate --check answer, and the status page does', async () => {
    const status = await system.run(['status']);
    expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining('healthy') as string });
    const reader = await createReaderLogin(system.databaseUrl);
    const query = ['sql', '--json', 'select collection from freshness order by 1'];
    const sql = await system.run(query, { DATABASE_URL: reader.url });
    await reader.drop();
    expect((JSON.parse(sql.stdout) as { rows: unknown[] }).rows).toHaveLength(6);
    expect((await system.run(['migrate', '--check'])).code).toBe(0);
    for (const path of ['/', '/api/status', '/metrics', '/healthz', '/readyz']) {
      expect((await fetch(`${daemon.statusUrl}${path}`)).status).toBe(200);
    }
  });

  it.each([
    'status',
    'status --json',
    // Would take days.
    'sql "select generate_series(1, 100000000000)"',
    '--help',
    'sync --full --json',
  ])('ends at once when nobody reads on: %s | head -1', async (args) => {
    const reader = await createReaderLogin(system.databaseUrl);
    const env = {
      DATABASE_URL: args.startsWith('sql') ? reader.url : system.databaseUrl,
      MIRROR_API_URL: system.sandbox.url,
      MIRROR_API_KEY: system.sandbox.key,
    };
    const { stdout, stderr } = await firstLine(args, env);
    await reader.drop();
    expect(stdout.split('\n')).toHaveLength(2);
    expect(stderr).not.toMatch(/EPIPE|[Ee]rror|interrupted/);
  });

  it('a sync that is interrupted ends with 130, and the daemon goes on', async () => {
    await system.sandbox.control.change({ latencyMin: 3_000, latencyMax: 3_000 });
    const before = (await system.sandbox.control.counters()).requests;
    const running = system.begin(['sync', '--full']);
    await eventually('the walk', async () => (await system.sandbox.control.counters()).requests > before);
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130 });
    await system.sandbox.control.change({ latencyMin: 0, latencyMax: 0 });
    await system.sync();
  });

  it('a sync whose daemon is killed says so and ends with 3; the next one does the work itself', async () => {
    await system.sandbox.control.change({ latencyMin: 3_000, latencyMax: 3_000 });
    const running = system.begin(['sync', '--full']);
    await eventually('the daemon at work', async () => {
      const { rows } = await system.db.query(
        `select from mirror_sync.command as c join mirror_sync.process as p on p.process_id = c.owner
         where c.kind = 'sync' and c.state = 'running' and p.command = 'start'`,
      );
      return rows.length > 0;
    });
    await daemon.stop('SIGKILL');
    const { code, stderr } = await running.ended;
    expect(code).toBe(3);
    expect(stderr).toContain('the daemon that worked on it has ended');
    await system.sandbox.control.change({ latencyMin: 0, latencyMax: 0 });
    await system.sync(['--full']);
    expect(await differences(system)).toEqual([]);
  });
});

describe('beside a running daemon with the embedded Postgres', () => {
  it('commands find its server by the data folder, and leave it running', async () => {
    const embedded = await system.daemon(EMBEDDED);
    await system.sync(['--full'], { env: EMBEDDED });
    expect((await system.run(['status'], EMBEDDED)).code).toBe(0);
    expect((await system.run(['migrate', '--check'], EMBEDDED)).code).toBe(0);
    const { stdout } = await system.run(['sql', '--json', 'select count(*) from research_jobs'], EMBEDDED);
    expect(JSON.parse(stdout)).toEqual({ rows: [{ count: 301 }] });
    expect((await fetch(`${embedded.statusUrl}/readyz`)).status).toBe(200);
    expect(await embedded.stop()).toMatchObject({ code: 0 });
    // The last one out has stopped it; a command starts it again, and stops it.
    expect((await system.run(['status'], EMBEDDED)).stdout).toContain('no daemon runs');
  });
});
