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
const setting = (env: Environment = {}): DoctorSetting => settingOf(system, { DATABASE_URL: undefined, ...env });

const wrongAt = async (env: Environment): Promise<string> => (await examine(setting(env))).wrong;

async function listening(answer: RequestListener, port = 0): Promise<number> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

describe('doctor says of the embedded Postgres', () => {
  it('that there is none yet, and that its port is taken; it makes none', async () => {
    const port = await listening((_, answer) => void answer.end());
    expect(await wrongAt({ MIRROR_PG_PORT: String(port) })).toMatch(
      /^database broken: .*port \d+ is taken by another program.*$/,
    );
    const { wrong, the } = await examine(setting({ MIRROR_PG_PORT: '0' }));
    expect(wrong).toBe('');
    expect(the('database').found).toBe('none yet; the first start creates it');
    expect(the('server').found).toMatch(/^PostgreSQL 18\.\d+ /);
    expect(await readdir(system.cwd)).not.toContain('data');
  });

  it('that MIRROR_PG_BIN names one that can’t be the embedded one', async () => {
    const bin = join(system.cwd, 'pg19');
    await mkdir(bin);
    for (const name of ['postgres', 'initdb']) {
      await writeFile(join(bin, name), `#!/bin/sh\necho "${name} (PostgreSQL) 19.1"\n`, { mode: 0o755 });
    }
    expect(await wrongAt({ MIRROR_PG_BIN: bin, MIRROR_PG_PORT: '0' })).toContain(
      `database broken: MIRROR_PG_BIN (${bin}) is PostgreSQL 19.1. Set it to the folder of a PostgreSQL 15 to 18`,
    );
    expect(await wrongAt({ MIRROR_PG_BIN: system.cwd })).toMatch(
      /^configuration broken: MIRROR_PG_BIN: .* has no postgres\. Give the folder.*$/,
    );
  });

  it.runIf(mayMount()).each([
    ['that its disk is full', 'size=2m', /^disk broken: the disk is full: 2 MB free in .*$/],
    ['that its folder has no room for a file', 'size=4g,nr_inodes=1', /^data_folder broken: .*ENOSPC.*$/],
    ['that its folder is mounted read-only', 'ro', /^data_folder broken: .*EROFS.*$/],
  ])('%s, and names no other folder', async (_, options, words) => {
    const folder = join(system.cwd, options);
    await mkdir(folder);
    inShell(`mount -t tmpfs -o ${options} tmpfs ${folder}`);
    try {
      const found = await examine(setting({ MIRROR_DATA_DIR: folder, MIRROR_PG_PORT: '0' }));
      expect(found.wrong).toMatch(words);
      // Another folder would be another mirror.
      expect(found.checks.filter(({ command }) => command !== null)).toEqual([]);
      inShell(`mount -o remount,rw,size=4g,nr_inodes=1000 ${folder}`);
      expect(await wrongAt({ MIRROR_DATA_DIR: folder, MIRROR_PG_PORT: '0' })).toBe('');
    } finally {
      inShell(`umount ${folder}`);
    }
  });

  it('that a stopped one is fine, and stops it again; that another program has its port', async () => {
    const own = { DATABASE_URL: undefined, MIRROR_PG_PORT: String(await nonEphemeralPort()) };
    expect(await system.run(['sync'], own)).toMatchObject({ code: 0 });
    expect(await wrongAt(own)).toBe('');
    expect(await readdir(join(dataDir, 'pg18')).catch(() => [])).not.toContain('postmaster.pid');
    await listening((_, answer) => void answer.end(), Number(own.MIRROR_PG_PORT));
    expect(await wrongAt(own)).toMatch(/^database broken: .*did not start: port \d+ is taken.*$/);
    expect(await wrongAt({ MIRROR_PG_PORT: '0' })).toBe('');
  });
});

describe('doctor says of the webhook', () => {
  const webhook = (publicUrl: string, port: number): Environment => ({
    DATABASE_URL: system.databaseUrl,
    MIRROR_PUBLIC_URL: publicUrl,
    MIRROR_WEBHOOK_PORT: String(port),
  });

  it('that the public URL leads nowhere, or to another program', async () => {
    const port = await nonEphemeralPort();
    expect(await wrongAt(webhook('https://mirror.invalid', port))).toMatch(
      new RegExp(`^public_url broken: MIRROR_PUBLIC_URL: mirror.invalid has no address.* → .*127.0.0.1:${port}.*$`),
    );
    const other = await listening((_, answer) => void answer.end('ok\n'));
    const stranger = await wrongAt(webhook(`http://127.0.0.1:${other}`, port));
    expect(stranger).toMatch(/^public_url broken: .*something else answers \(\/webhooks\/0 200\).*$/);
    expect(stranger).toContain(`proxy_pass http://127.0.0.1:${port};`);
  });

  it('that the way is right, with a daemon and without one', async () => {
    const port = await nonEphemeralPort();
    const proxy = await listening((incoming, answer) => {
      const url = incoming.url ?? '';
      if (!url.startsWith('/webhooks/')) return void answer.writeHead(404).end('nothing of yours');
      const onward = request({ port, path: url, agent: false }, (got) => {
        answer.writeHead(got.statusCode ?? 502, got.headers);
        got.pipe(answer);
      });
      onward.on('error', () => answer.writeHead(502).end()).end();
      return undefined;
    });
    const right = setting(webhook(`http://127.0.0.1:${proxy}`, port));
    expect((await examine(right)).wrong).toBe('');
    const daemon = await system.daemon(right.env);
    const beside = await examine(right);
    expect(beside.checks.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(beside.the('public_url').found).toContain(`leads to 127.0.0.1:${port}`);
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });
});
