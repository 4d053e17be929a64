import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { bundle } from '../build/bundle.ts';
import { licenceFile, thirdParties } from '../build/third-party.ts';
import { ROOT } from './support/rules/source-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'research-mirror-bundle-'));
afterAll(() => rmSync(folder, { recursive: true }));

const chunks = await bundle({ main: 'src/main.ts' }, join(folder, 'dist', 'program'));

/** Modules that are loaded with these: of our own the paths from the root, of others the packages' names. */
function loadedWith(...modules: readonly string[]): ReadonlySet<string> {
  const files = new Set<string>();
  const add = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    chunks.find((chunk) => chunk.file === file)?.imports.forEach(add);
  };
  for (const module of modules) {
    const chunk = chunks.find((each) => each.modules.includes(join(ROOT, module)));
    if (chunk === undefined) throw new Error(`${module} is in no file of the bundle`);
    add(chunk.file);
  }
  return new Set(
    chunks
      .filter(({ file }) => files.has(file))
      .flatMap((chunk) => chunk.modules)
      .map((module) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module)?.[1] ?? relative(ROOT, module)),
  );
}

/** What is loaded before it is known which command is meant; for help and version nothing else. */
const BASE = ['src/main.ts', 'src/cli/run.ts'];
const packagesIn = (modules: ReadonlySet<string>): string[] =>
  [...modules].filter((name) => !/^(src|packages)\/|\0/.test(name)).toSorted();

it('what a command loads is next to nothing for help and version', () => {
  const loaded = loadedWith(...BASE);
  expect(packagesIn(loaded)).toEqual(['commander', 'leven']);
  const work =
    /^src\/(postgres|service|walk|mirror|events|submissions|sync|account|status|operate|daemon)\/|^src\/cli\/(demo|sandbox|start|migrate)/;
  expect([...loaded].filter((path) => work.test(path))).toEqual([]);
});

const SERVES = 'packages/sandbox/src/start-sandbox.ts';
const HTTP_AND_MODELS = /^(undici|@prometheus-io|zod|@modelcontextprotocol|p-queue)/;
const WALKS = /^src\/(service\/(api|attempt|transport)|walk\/|sync\/(?!schedule))/;

it.each<[string, has: string[], hasNot: RegExp[]]>([
  ['status/status', ['kysely', 'pg'], [HTTP_AND_MODELS, WALKS]],
  ['operate/sql', ['kysely', 'pg'], [HTTP_AND_MODELS]],
  ['operate/sync', ['undici'], [/^(@prometheus-io|zod|@modelcontextprotocol)/]],
  ['cli/start', ['src/status/server.ts'], [/^zod$/, new RegExp(`^${SERVES}$`)]],
  ['cli/sandbox', [SERVES], []],
  ['operate/mcp', ['zod'], []],
])('what the command of src/%s.ts loads is what it needs', (path, has, hasNot) => {
  const loaded = [...loadedWith(...BASE, `src/${path}.ts`)];
  expect(loaded).toEqual(expect.arrayContaining(has));
  expect(loaded.filter((name) => hasNot.some((each) => each.test(name)))).toEqual([]);
});

/** Loads a module of the bundle in a process of its own. @returns what of Node itself came with it */
async function builtinsOf(module: string): Promise<readonly string[]> {
  const chunk = chunks.find((each) => each.modules.includes(join(ROOT, module)));
  const url = pathToFileURL(join(folder, 'dist', 'program', chunk?.file ?? module)).href;
  const script = `await import(${JSON.stringify(url)}); process.stdout.write(JSON.stringify(process.moduleLoadList));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  return JSON.parse(stdout) as string[];
}

it('a loaded program has neither Node’s own undici, which is 19 MB, nor HTTP/2, TLS or SQLite, until they are used', async () => {
  const loaded = await builtinsOf('src/cli/start.ts');
  expect(loaded).toContain('NativeModule http');
  for (const dear of ['internal/deps/undici/undici', 'http2', 'tls', 'sqlite'])
    expect(loaded).not.toContain(`NativeModule ${dear}`);
});

it('a loaded program is text of one byte a character', () => {
  const texts = chunks.map(({ file }) => readFileSync(join(folder, 'dist', 'program', file), 'utf8'));
  expect(texts.filter((each) => /[^\0-\x7f]/.test(each))).toEqual([]);
});

it('the licences of what is bundled are carried along, each with its text', () => {
  const packages = thirdParties(chunks.flatMap(({ modules }) => modules));
  expect(packages.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['commander', 'kysely', 'pg', 'pgpass', 'pino', 'undici', 'zod']),
  );
  const file = licenceFile(packages);
  for (const { name, version, license, text } of packages) {
    expect(`${name}: ${license}`).toMatch(/: (Apache-2\.0|BSD-3-Clause|ISC|MIT)$/);
    expect(`${name}: ${text}`).toMatch(/copyright|apache license/i);
    expect(file).toContain(`\n${name} ${version} (${license})\n`);
  }
});

it('the licences of what is bundled stop the build where a package has no text of one', () => {
  const module = install('unlicensed', { 'README.md': '# unlicensed\n\n## License\n\nMIT\n' });
  expect(() => thirdParties([module])).toThrow('no text of a licence is in unlicensed 1.0.0');
});

it('the licences of what is bundled may stand in the README alone, and a notice comes with them', () => {
  const readme = '# x\n\n## License\n\nCopyright (c) somebody\n\n## Thanks\n\nto all\n';
  const [found] = thirdParties([install('spare', { 'README.md': readme, NOTICE: 'by the way' })]);
  expect(found?.text).toBe('Copyright (c) somebody\n\nby the way');
});

it('the licences of what is bundled are those of others only, once a version', () => {
  const module = install('twice', { LICENSE: 'copyright' });
  const own = join(ROOT, 'src', 'main.ts');
  expect(thirdParties([module, own, module]).map(({ name }) => name)).toEqual(['twice']);
});

/** Puts a package there. @returns path of its module, in a folder with a package.json without a name */
function install(name: string, files: Readonly<Record<string, string>>): string {
  const root = join(folder, 'node_modules', name);
  const all = {
    ...files,
    'package.json': JSON.stringify({ name, version: '1.0.0', license: 'MIT' }),
    'esm/package.json': '{ "type": "module" }',
    'esm/index.js': '',
  };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return join(root, 'esm', 'index.js');
}
