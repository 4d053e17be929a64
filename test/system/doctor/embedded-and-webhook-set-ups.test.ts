import { execFileSync } from 'node:child_process';
import { createServer, request, type RequestListener } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { removeTestServer } from '../../support/postgres/postgres.ts';
import { examine, settingOf, type DoctorSetting } from '../../support/processes/doctor.ts';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';

/** Whether this user may make a small disk: root may, outside of most containers. */
function mayMount(): boolean {
  try {
    inShell('unshare --mount mount -t tmpfs tmpfs /mnt');
    return true;
  } catch {
    process.stderr.write('no file system can be mounted here; NOT TESTED: doctor on a full disk\n');
    return false;
  }
}

function inShell(line: string): void {
  execFileSync('/bin/sh', ['-c', line], { stdio: 'ignore' });
}

let system: System;
let dataDir: string;
const servers: Server[] = [];

beforeAll(async () => {
  system = await createSystem();
  // Where tests run as root, PostgreSQL runs as another user.
  await chmod(system.cwd, 0o755);
  dataDir = join(system.cwd, 'data');
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});
afterAll(async () => {
  await removeTestServer(dataDir);
  await system.close();
});

/** Without DATABASE_URL: the embedded Postgres. */
const setting = (env: Environment = {}): DoctorSetting =>
  settingOf(system, { DATABASE_URL: undefined, ...env });

async function listening(answer: RequestListener, port = 0): Promise<number> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

describe('doctor says of the embedded Postgres', () => {
  it('that there is none yet, and that its port is taken; it makes none', async () => {
    const port = await listening((_, answer) => void answer.end());
    const wrong = setting({ MIRROR_PG_PORT: String(port) });
    const found = await examine(wrong);
    expect(found.in('broken')).toEqual(['database']);
    expect(found.the('database').found).toMatch(/port \d+ is taken by another program/);
    const mended = await examine({ ...wrong, env: { ...wrong.env, MIRROR_PG_PORT: '0' } });
    expect(mended).toMatchObject({ code: 0 });
    expect(mended.the('database').found).toBe('none yet: the first start makes it');
    expect(mended.the('server').found).toMatch(/^PostgreSQL 18\.\d+ /);
    expect(await readdir(system.cwd)).not.toContain('data');
  });

  it('that MIRROR_PG_BIN names one that can’t be the embedded one', async () => {
    const bin = join(system.cwd, 'pg19');
    await mkdir(bin);
    for (const name of ['postgres', 'initdb']) {
      await writeFile(join(bin, name), `#!/bin/sh\necho "${name} (PostgreSQL) 19.1"\n`, { mode: 0o755 });
    }
    const found = await examine(setting({ MIRROR_PG_BIN: bin, MIRROR_PG_PORT: '0' }));
    expect(found).toMatchObject({ code: 1 });
    expect(found.the('database')).toMatchObject({
      state: 'broken',
      found: expect.stringContaining(
        `MIRROR_PG_BIN (${bin}) is PostgreSQL 19.1: name the folder of a PostgreSQL 15 to 18`,
      ) as string,
    });
    const missing = await examine(setting({ MIRROR_PG_BIN: system.cwd }));
    expect(missing).toMatchObject({ code: 2 });
    expect(missing.the('configuration').found).toMatch(/^MIRROR_PG_BIN: .* has no postgres: name the folder/);
  });

  it('that its folder can’t be written', async () => {
    const wrong = setting({ MIRROR_DATA_DIR: '/proc/nowhere', MIRROR_PG_PORT: '0' });
    const found = await examine(wrong);
    expect(found).toMatchObject({ code: 1 });
    expect(found.in('broken')).toEqual(['data_folder']);
    expect(found.the('data_folder').found).toContain(
      "MIRROR_DATA_DIR (/proc) can't hold the embedded database",
    );
  });

  it.runIf(mayMount())('that its disk is full', async () => {
    const folder = join(system.cwd, 'small');
    await mkdir(folder);
    inShell(`mount -t tmpfs -o size=2m tmpfs ${folder}`);
    try {
      const wrong = setting({ MIRROR_DATA_DIR: folder, MIRROR_PG_PORT: '0' });
      const found = await examine(wrong);
      expect(found).toMatchObject({ code: 1 });
      expect(found.in('broken')).toEqual(['disk']);
      expect(found.the('disk').found).toMatch(/^the disk is full: 2 MB free for /);
      inShell(`mount -o remount,size=4g ${folder}`);
      expect(await examine(wrong)).toMatchObject({ code: 0 });
    } finally {
      inShell(`umount ${folder}`);
    }
  });

  it.runIf(mayMount()).each([
    ['has no room for a file', 'size=4g,nr_inodes=1', 'ENOSPC'],
    // Another folder would be another mirror.
    ['is mounted read-only', 'ro', 'EROFS'],
  ])('that its folder %s, and names no other one', async (_, options, code) => {
    const folder = join(system.cwd, code);
    await mkdir(folder);
    inShell(`mount -t tmpfs -o ${options} tmpfs ${folder}`);
    try {
      const found = await examine(setting({ MIRROR_DATA_DIR: folder, MIRROR_PG_PORT: '0' }));
      expect(found.in('broken')).toEqual(['data_folder']);
      expect(found.the('data_folder')).toMatchObject({
        found: expect.stringContaining(code) as string,
        command: null,
      });
    } finally {
      inShell(`umount ${folder}`);
    }
  });

  it('that a stopped one is fine, and stops it again; that another program has its port', async () => {
    const own = setting({ MIRROR_PG_PORT: String(await nonEphemeralPort()) });
    expect(await system.run(['sync'], { ...own.env, DATABASE_URL: undefined })).toMatchObject({ code: 0 });
    const found = await examine(own);
    expect(found.checks.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(found.code).toBe(0);
    expect(await readdir(join(dataDir, 'pg18')).catch(() => [])).not.toContain('postmaster.pid');
    await listening((_, answer) => void answer.end(), Number(own.env['MIRROR_PG_PORT']));
    const taken = await examine(own);
    expect(taken.in('broken')).toEqual(['database']);
    expect(taken.the('database').found).toMatch(/did not start: port \d+ is taken/);
    expect(await examine({ ...own, env: { ...own.env, MIRROR_PG_PORT: '0' } })).toMatchObject({
      code: 0,
    });
  });
});

describe('doctor says of the webhook', () => {
  const withWebhook = (publicUrl: string, port: number, env: Environment = {}): DoctorSetting =>
    setting({
      DATABASE_URL: system.databaseUrl,
      MIRROR_PUBLIC_URL: publicUrl,
      MIRROR_WEBHOOK_PORT: String(port),
      ...env,
    });

  /** A proxy that passes on what begins with `path`, and answers 404 to the rest. */
  const proxyTo = (port: number, path: string): Promise<number> =>
    listening((incoming, answer) => {
      const url = incoming.url ?? '';
      if (!url.startsWith(path)) return void answer.writeHead(404).end('nothing of yours');
      const onward = request({ port, path: url, agent: false }, (got) => {
        answer.writeHead(got.statusCode ?? 502, got.headers);
        got.pipe(answer);
      });
      onward.on('error', () => answer.writeHead(502).end()).end();
      return undefined;
    });

  it('that the public URL leads nowhere, or to another program', async () => {
    const port = await nonEphemeralPort();
    const nobody = await examine(withWebhook('https://mirror.invalid', port));
    expect(nobody).toMatchObject({ code: 1 });
    expect(nobody.in('broken')).toEqual(['public_url']);
    expect(nobody.the('public_url')).toMatchObject({
      found: expect.stringContaining('MIRROR_PUBLIC_URL: mirror.invalid has no address') as string,
      remedy: expect.stringContaining(`127.0.0.1:${port}`) as string,
    });
    const other = await listening((_, answer) => void answer.end('ok\n'));
    const stranger = await examine(withWebhook(`http://127.0.0.1:${other}`, port));
    expect(stranger.in('broken')).toEqual(['public_url']);
    expect(stranger.the('public_url')).toMatchObject({
      found: expect.stringContaining('something else answers (/webhooks/0 200)') as string,
      remedy: expect.stringContaining(`proxy_pass http://127.0.0.1:${port};`) as string,
    });
  });

  it('that the way to a running daemon is right', async () => {
    const port = await nonEphemeralPort();
    const proxy = await proxyTo(port, '/webhooks/');
    const mended = withWebhook(`http://127.0.0.1:${proxy}`, port);
    expect(await examine(mended)).toMatchObject({ code: 0 });
    const daemon = await system.daemon(mended.env);
    const beside = await examine(mended);
    expect(beside.checks.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(beside.the('public_url').found).toContain(`leads to 127.0.0.1:${port}`);
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });
});
