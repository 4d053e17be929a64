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
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const root = JSON.parse(read('package.json')) as Manifest;
const workspaces = readdirSync(join(ROOT, 'packages')).map((folder) => ({
  folder,
  manifest: JSON.parse(read(`packages/${folder}/package.json`)) as Manifest,
}));

const SCOPE = '@research-mirror/';

describe('the workspaces', () => {
  it('are private, named for their folder, and of the program’s version and licence', () => {
    for (const { folder, manifest } of workspaces) {
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
      const imported = sourceFiles(`packages/${folder}`)
        .filter(({ path }) => !path.endsWith('.test.ts') && !path.includes('/testing/'))
        .flatMap(({ imports }) => imports)
        .filter((path) => !isBuiltin(path) && !path.startsWith(`packages/${folder}/`))
        .map((path) => path.replace(/^packages\/([^/]+)\/.*/, `${SCOPE}$1`));
      expect(Object.keys(manifest.dependencies ?? {}).toSorted(), `packages/${folder}`).toEqual(
        [...new Set(imported)].toSorted(),
      );
    }
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
    const versions = new Map(Object.entries({ ...root.dependencies, ...root.devDependencies }));
    for (const { folder, manifest } of workspaces) {
      for (const [name, version] of Object.entries(manifest.dependencies ?? {})) {
        if (name.startsWith(SCOPE)) continue;
        expect(version, `${folder}: ${name}`).toMatch(/^\d+\.\d+\.\d+/);
        expect(versions.get(name) ?? version, `${folder}: ${name}`).toBe(version);
      }
    }
  });

  it('are all known to the image before its packages are installed', () => {
    const copied = [
      ...read('Dockerfile').matchAll(/^COPY packages\/([^/ ]+)\/package\.json packages\/\1\/$/gm),
    ];
    expect(copied.map((match) => match[1])).toEqual(workspaces.map(({ folder }) => folder));
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

/** `packages/runtime/src/clock.ts` → `runtime`; undefined for what is in no workspace. */
function workspaceOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}
