import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAlive, runningPostmaster } from '@research-mirror/embedded-postgres/postmaster';
import { type EmbeddedServer } from '@research-mirror/embedded-postgres/start';
import { ask as rowsAt } from '../../support/postgres/on-connection.ts';
import { startTestServer } from '../../support/postgres/postgres.ts';
import { openFolder } from '../../support/postgres/quick-folder.ts';

/** Starts the embedded server in a process of its own. */
const PROGRAM = fileURLToPath(new URL('try-embedded.ts', import.meta.url));

let folder: string;
const servers: EmbeddedServer[] = [];
const programs: ChildProcess[] = [];

afterEach(async () => {
  for (const program of programs.splice(0)) program.kill('SIGKILL');
  for (const server of servers.splice(0)) await server.stop();
  // What killed programs left running is found and stopped as the next program would.
  if (existsSync(join(folder, 'pg18-password'))) await (await begin()).stop();
  const elsewhere = await readFile(join(folder, 'pg18-location'), 'utf8').catch(() => '');
  if (elsewhere !== '') await rm(elsewhere.trim(), { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  folder = await openFolder('embedded');
});

/** The server's process ID; 0 where none runs. */
const runningPid = async (): Promise<number> => (await runningPostmaster(join(folder, 'pg18')))?.pid ?? 0;

async function begin(dataDir = folder, port: number | 'free' = 'free'): Promise<EmbeddedServer> {
  const server = await startTestServer(dataDir, { port });
  servers.push(server);
  return server;
}

/** A second program; resolves with what it says about the server that it got. */
async function beginProgram() {
  const program = spawn(process.execPath, [PROGRAM, folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  programs.push(program);
  const lines = createInterface(program.stdout);
  const [line] = (await Promise.race([once(lines, 'line'), once(lines, 'close')])) as [string?];
  if (line === undefined) throw new Error('the second program ended without a word');
  return { program, told: JSON.parse(line) as { readonly url: string; readonly owned: boolean } };
}

async function end(program: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exit = once(program, 'exit');
  program.kill(signal);
  await exit;
}

async function ask(url: string, text: string): Promise<unknown> {
  return Object.values((await rowsAt(url, text))[0] ?? {})[0];
}

/** The server answers, also if it is being restarted. */
async function answers({ url }: EmbeddedServer): Promise<void> {
  const one = () => ask(url, 'select 1').catch(() => undefined);
  await expect.poll(one, { timeout: 120_000, interval: 50 }).toBe(1);
}

describe('the embedded PostgreSQL', () => {
  it('keeps its data from one start to the next, with fsync on, reachable on loopback with a password only', async () => {
    const first = await begin();
    expect(first.owned).toBe(true);
    await ask(first.url, 'create table kept as select 42 as answer');
    expect(await ask(first.url, 'show fsync')).toBe('on');
    expect(await ask(first.url, 'show synchronous_commit')).toBe('on');
    expect(await ask(first.url, 'show listen_addresses')).toBe('127.0.0.1');
    expect((await stat(join(folder, 'pg18-password'))).mode & 0o777).toBe(0o600);
    const wrong = first.url.replace(/:[0-9a-f]+@/, ':wrong@');
    await expect(ask(wrong, 'select 1')).rejects.toThrow(/password authentication failed/);
    await first.stop();
    const second = await begin();
    expect(await ask(second.url, 'select answer from kept')).toBe(42);
    expect((await readdir(folder)).sort()).toEqual(['pg18', 'pg18-password', 'pg18.log']);
  });

  it('runs in a process group of its own, so that Ctrl-C does not reach it', async () => {
    await begin();
    const pid = await runningPid();
    // A group of that number exists only if the server leads it.
    expect(process.kill(-pid, 0)).toBe(true);
  });

  it('gives nothing of our environment to the server', async () => {
    process.env['MIRROR_API_KEY'] = 'a key that nobody may see';
    await begin();
    const pid = await runningPid();
    delete process.env['MIRROR_API_KEY'];
    const environment = await environmentOf(pid);
    expect(environment).toContain('TZ=UTC');
    expect(environment).not.toContain('MIRROR_API_KEY');
  });

  it('is shared by programs: the last one stops it, whoever started it', async () => {
    const { program, told } = await beginProgram();
    expect(told.owned).toBe(true);
    const here = await begin();
    expect(here).toMatchObject({ owned: false, url: told.url });
    await end(program, 'SIGTERM');
    expect(await ask(here.url, 'select 1')).toBe(1);
    await here.stop();
    expect(await runningPid()).toBe(0);
  });

  it('is one server when several programs begin at once on an empty folder', async () => {
    const begun = await Promise.all([1, 2, 3].map(() => beginProgram()));
    expect(new Set(begun.map(({ told }) => told.url)).size).toBe(1);
    expect(begun.filter(({ told }) => told.owned)).toHaveLength(1);
  });

  it('keeps its port, where any free one will do, so that programs find it after another one’s stop', async () => {
    const first = await begin();
    await first.stop();
    const again = await begin();
    expect(again).toMatchObject({ owned: true, url: first.url });
    await again.stop();
    const taken = createServer().listen(first.port, '127.0.0.1');
    await once(taken, 'listening');
    const elsewhere = await begin();
    taken.close();
    expect(elsewhere.port).not.toBe(first.port);
    expect(await ask(elsewhere.url, 'select 1')).toBe(1);
  });

  it('survives programs that begin while others stop it', async () => {
    await (await begin()).stop();
    const rounds = async (): Promise<void> => {
      for (let round = 0; round < 6; round += 1) {
        const server = await begin();
        // A server that was stopped just as this program connected is restarted.
        await answers(server);
        await server.stop();
      }
    };
    await Promise.all([rounds(), rounds(), rounds()]);
    expect(await runningPid()).toBe(0);
  });

  it('survives a program that is killed: the next one finds it and stops it', async () => {
    const { program, told } = await beginProgram();
    const pid = await runningPid();
    await end(program, 'SIGKILL');
    const next = await begin();
    expect(next).toMatchObject({ owned: false, url: told.url });
    await next.stop();
    expect(isAlive(pid)).toBe(false);
  });

  it('is restarted on its port when it is killed while a program uses it', async () => {
    const server = await begin();
    const pid = await runningPid();
    process.kill(pid, 'SIGKILL');
    await answers(server);
    expect(await runningPid()).not.toBe(pid);
  });

  it.each([
    [
      'a dead server’s process ID is another program’s by now',
      (pgData: string) => `${process.pid}\n${pgData}\n1\n5999\n\n\n`,
      Date.now() / 1_000,
    ],
    ['a crash left an empty postmaster.pid', () => '', 1_000],
  ])('starts although %s', async (_, left, writtenAt) => {
    await (await begin()).stop();
    const pgData = join(folder, 'pg18');
    await writeFile(join(pgData, 'postmaster.pid'), left(pgData));
    await utimes(join(pgData, 'postmaster.pid'), writtenAt, writtenAt);
    expect((await begin()).owned).toBe(true);
  });

  it('is the same server by whatever path the folder is reached', async () => {
    const alias = `${folder}-alias`;
    await symlink(folder, alias);
    const first = await begin();
    const second = await begin(alias);
    expect(second).toMatchObject({ owned: false, url: first.url });
    await rm(alias);
  });

  it('says so when its port is taken, and names the variable', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    await expect(begin(folder, port)).rejects.toThrow(
      new RegExp(`port ${port} is taken by another program.*MIRROR_PG_PORT`),
    );
    other.close();
  });

  it('says so when the database is another PostgreSQL’s, or its password is lost or wrong', async () => {
    const server = await begin();
    const password = await readFile(join(folder, 'pg18-password'), 'utf8');
    await rm(join(folder, 'pg18-password'));
    await expect(begin()).rejects.toThrow(/password file .* is missing\. Put it back/);
    await writeFile(join(folder, 'pg18-password'), 'another\n');
    await expect(begin()).rejects.toThrow(/does not accept the password of its password file/);
    await writeFile(join(folder, 'pg18-password'), password);
    await server.stop();
    await writeFile(join(folder, 'pg18', 'PG_VERSION'), '15\n');
    await expect(begin()).rejects.toThrow(/made by PostgreSQL 15, but 18 is embedded/);
    await writeFile(join(folder, 'pg18', 'PG_VERSION'), '18\n');
  });

  it('works in a folder that other users can’t enter, as root, too', async () => {
    await chmod(folder, 0o700);
    const server = await begin();
    expect(await ask(server.url, 'select 1')).toBe(1);
    await server.stop();
    const again = await begin();
    expect(again.owned).toBe(true);
    const pointer = await readFile(join(folder, 'pg18-location'), 'utf8').catch(() => folder);
    // PostgreSQL runs on a folder of its own user only, and never as root.
    expect((await stat(join(pointer.trim(), 'pg18'))).uid).not.toBe(0);
  });
});

async function environmentOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/environ`, 'utf8');
  return (await promisify(execFile)('ps', ['-Eww', '-o', 'command=', '-p', String(pid)])).stdout;
}
