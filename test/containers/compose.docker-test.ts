import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COLLECTION_NAMES } from '../../src/model/collections.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { composeProject, type ComposeProject } from './compose.ts';

/** The contract's bound for a stop, in milliseconds. */
const STOP_BOUND = 8_000;

/** In this order, on one project: each test finds what the one before has left. */
describe('docker compose --profile sandbox up, with nothing configured', () => {
  let project: ComposeProject;
  let firstSeen: string;

  beforeAll(async () => {
    project = await composeProject();
    await project.compose('up', '--detach', '--build');
  });

  afterAll(() => project.compose('down', '--volumes'));

  it('mirrors the emulated service', async () => {
    const everyCollection = async (): Promise<boolean> => {
      const rows = await query('select collection from freshness where live_rows > 0');
      return rows.length === COLLECTION_NAMES.length;
    };
    expect(await eventually('rows of every collection', everyCollection, 60_000)).toBe(true);
    firstSeen = await oldestRow();
  });

  it('is healthy, by the containers’ own checks and by the program’s', async () => {
    for (const service of ['postgres', 'sandbox', 'mirror']) {
      await eventually(
        `${service} to be healthy`,
        async () => (await project.inspect(service, '{{.State.Health.Status}}')) === 'healthy',
        60_000,
      );
    }
    expect((await project.mirror('status')).code).toBe(0);
  });

  it('carries out what commands in the container leave for the daemon', async () => {
    expect(await project.mirror('sync', 'watchlist')).toMatchObject({ code: 0 });
  });

  it('shows its page only to who has the token', async () => {
    const token = (await project.compose('exec', '-T', 'mirror', 'cat', '/data/status-token')).trim();
    const statusFor = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(project.url, { headers })).status;
    expect(await statusFor({})).toBe(401);
    expect(await statusFor({ authorization: `Bearer ${token}` })).toBe(200);
  });

  it('gives no container more than it needs', async () => {
    const rights =
      '{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}}';
    const least = 'true [ALL] [no-new-privileges:true]';
    expect(await project.inspect('mirror', rights)).toBe(`1000:1000 ${least}`);
    expect(await project.inspect('sandbox', rights)).toBe(`1000:1000 ${least}`);
    expect(await project.inspect('postgres', rights)).toBe(`postgres ${least}`);
  });

  it('has only what the daemon needs in its image', async () => {
    const list = async (...args: string[]): Promise<string[]> =>
      (await project.compose('exec', '-T', 'mirror', ...args)).trim().split(/\s+/);
    expect((await list('ls', '-A', '/app')).toSorted()).toEqual([
      'LICENSE',
      'bin',
      'dist',
      'docker',
      'migrations',
      'package.json',
    ]);
    expect((await list('ls', '-A', '/app/dist')).toSorted()).toEqual(['compile-cache', 'program']);
    const ours = await list('find', '/app', '-type', 'f');
    expect(ours.filter((path) => /\.ts$|README|schema\.sql$/.test(path))).toEqual([]);
    expect(ours).toContain('/app/dist/program/THIRD_PARTY_LICENSES');
  });

  it('has what V8 makes of each file of the program in its image, for the user that it runs as', async () => {
    const count = async (folder: string, name: string): Promise<number> =>
      Number(await project.compose('exec', '-T', 'mirror', 'sh', '-c', `ls ${folder} | grep -c ${name}`));
    const compiled = await count('/app/dist/compile-cache/*-1000', '.');
    // The status page's script is the browser's.
    expect(compiled).toBe((await count('/app/dist/program', "'\\.js$'")) - 1);
  });

  it('ends cleanly and in time when it is stopped', async () => {
    const begun = performance.now();
    await project.compose('stop', 'mirror');
    expect(performance.now() - begun).toBeLessThan(STOP_BOUND);
    expect(await project.inspect('mirror', '{{.State.ExitCode}}')).toBe('0');
  });

  it('goes on with its rows after down and up', async () => {
    await project.compose('down');
    await project.compose('up', '--detach');
    expect(await eventually('the mirror', oldestRow)).toBe(firstSeen);
  });

  it('says what is missing where neither an account nor the emulated service is there', async () => {
    await project.compose('down');
    await project.compose('up', '--detach', 'mirror');
    const log = await eventually('the complaint', async () => {
      const text = await project.compose('logs', 'mirror');
      return text.includes('research-mirror:') && text;
    });
    expect(log).toContain('MIRROR_API_URL: not set');
    expect(log).toContain('MIRROR_API_KEY: not set');
    expect(log).toContain('docker compose --profile sandbox up');
  });

  async function query<T>(sql: string): Promise<T[]> {
    const { code, stdout, stderr } = await project.mirror('sql', '--json', sql);
    if (code !== 0) throw new Error(stderr);
    return (JSON.parse(stdout) as { rows: T[] }).rows;
  }

  async function oldestRow(): Promise<string> {
    const [row] = await query<{ at: string }>('select min(_first_seen_at)::text as at from research_jobs');
    return row?.at ?? '';
  }
});
