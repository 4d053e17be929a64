import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { LAUNCHER } from '../../support/processes/program.ts';
import {
  createFrozenSystem,
  type Daemon,
  type Environment,
  type System,
} from '../../support/processes/system.ts';

let system: System;
let daemon: Daemon;

beforeAll(async () => {
  system = await createFrozenSystem({ latencyMin: 5, latencyMax: 30 });
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

  it.each(['status', '--help', 'sync --full --json'])(
    'ends at once when nobody reads on: %s | head -1',
    async (args) => {
      const env = {
        DATABASE_URL: system.databaseUrl,
        MIRROR_API_URL: system.sandbox.url,
        MIRROR_API_KEY: system.sandbox.key,
      };
      const { stdout, stderr } = await firstLine(args, env);
      expect(stdout.split('\n')).toHaveLength(2);
      expect(stderr).not.toMatch(/EPIPE|[Ee]rror|interrupted/);
    },
  );

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
