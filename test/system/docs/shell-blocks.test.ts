import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtProgram } from '../../support/processes/built-programs.ts';
import { accountEnv } from '../../support/processes/program.ts';
import { createReaderLogin } from '../../support/postgres/reader-login.ts';
import { createSystem, type System } from '../../support/processes/system.ts';
import { blocksOf, commandsOf } from '../../support/readme/readme.ts';
import { codeRecipes } from '../../support/rules/recipes.ts';
import { ROOT } from '../../support/rules/source-files.ts';

/** Programs that need a machine of their own: the file that runs the blocks which have one, and what there says so. */
const RUN_ELSEWHERE: Readonly<Record<string, readonly [file: string, says: string]>> = {
  docker: ['test/containers/run.ts', 'docker'],
  kubectl: ['test/kubernetes/manifests.ts', 'kubectl apply'],
  pg_dump: ['test/system/databases/pg-dump.test.ts', 'A backup with pg_dump'],
  pg_restore: ['test/system/databases/pg-dump.test.ts', 'A backup with pg_dump'],
  duckdb: ['test/duckdb/parquet-recipe.test.ts', 'As CSV and as Parquet'],
  'kysely-codegen': ['test/system/surfaces/types-recipe.test.ts', 'Types for a program in TypeScript'],
};

/** Commands that end with another code than 0 in the account that this test mirrors. */
const OTHER_CODES: Readonly<Record<string, number>> = {
  'npx research-mirror columns accept research_jobs.score': 1,
  'npx research-mirror quarantine list --show': 1,
  'npx research-mirror submissions list --show': 1,
  'npx research-mirror submissions cancel': 1,
  'npx research-mirror submit list_analyze': 1,
};

/**
 * Why a block of `bash`, as it stands there, can't be run by a test: it has a value to fill in, another's machine, an
 * account's rights on this one, or a process that stays. One of `sh` is run.
 */
const NOT_RUN =
  /…|example\.com|\bsudo\b|\bnpm (?:ci|exec|install|pack|run|start)\b|\$OWNER\b|\$PASSWORD\b|research-mirror (?:start|sandbox)\b|bi\/superset|data\/pg18|research-mirror distribute|citus_|WORKER_URL/;

const shown = readdirSync(join(ROOT, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .flatMap((page) =>
    blocksOf(readFileSync(join(ROOT, 'docs', page), 'utf8'))
      .filter(({ language }) => language === 'sh' || language === 'bash')
      .map((block) => [page, block.code.split('\n', 1)[0] ?? '', block] as const),
  );
const needs = (code: string): string | undefined =>
  Object.keys(RUN_ELSEWHERE).find((program) => new RegExp(`(?<![\\w-])${program}(?![\\w-])`).test(code));

/** Where the order matters: those that compare everything come first, the one that empties an account last. */
const ORDER = ['verify.md', 'backups.md', '', 'accounts.md'];
const placeOf = (page: string): number => ORDER.indexOf(ORDER.includes(page) ? page : '');
const here = shown
  .filter(([, , { language, code }]) => language === 'sh' && needs(code) === undefined)
  .toSorted(([a], [b]) => placeOf(a) - placeOf(b));

/** The file that docs/erase.md has a reader save. */
const [FIND = ''] = await codeRecipes('Find and erase it', 'sql');

let system: System;
let bin: string;
let reader: Awaited<ReturnType<typeof createReaderLogin>>;

beforeAll(async () => {
  system = await createSystem({ keys: 'docs-key=42' });
  await system.sync(['--full'], { env: { MIRROR_SETTLE: '1s' } });
  bin = join(system.cwd, 'bin');
  mkdirSync(bin);
  reader = await createReaderLogin(system.databaseUrl);
  // `sql` runs as a login that only reads.
  const program = `[ "$1" != sql ] || export DATABASE_URL="$READER_URL"\nexec "${process.execPath}" "${await builtProgram('main')}" "$@"`;
  executable('research-mirror', program);
  executable(
    'npx',
    `[ "$1" = research-mirror ] || { echo "npx $1 is run by no test" >&2; exit 127; }\nshift\n${program}`,
  );
});
afterAll(async () => {
  await reader.drop();
  await system.close();
});

function executable(name: string, script: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
}

/** Runs a block in its page's folder. @returns each command that ended with another code than 0, as `code: command` */
async function failures(page: string, code: string): Promise<{ failed: string[]; output: string }> {
  const cwd = join(system.cwd, page);
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'companies.json'), '{"companies": [{"company_url": "https://example.com"}]}');
  writeFileSync(join(cwd, 'find.sql'), FIND);
  const env = {
    ...accountEnv(system.databaseUrl, system.sandbox),
    READER_URL: reader.url,
    MIRROR_SETTLE: '1s',
    HOME: cwd,
  };
  const script = `set -E; trap 'echo "ENDED $?: $BASH_COMMAND" >&2' ERR\n${code}\necho "LAST $?" >&2`;
  const child = spawn('timeout', ['60', 'bash', '-c', script], {
    cwd,
    env: { ...env, PATH: `${bin}:${process.env['PATH']}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const status = await new Promise((resolve) => child.once('close', resolve));
  const failed = [...output.matchAll(/^ENDED (\d+: .*)$/gm)].map(([, line = '']) => line);
  // The trap is silent about what stands before `&&`.
  const [, last = String(status)] = /^LAST (\d+)$/m.exec(output) ?? [];
  const isTold = last === '0' || failed.some((line) => line.startsWith(`${last}: `));
  return { failed: isTold ? failed : [...failed, `the block ended with ${last}`], output };
}

const endedAsSaid = (line: string): boolean =>
  Object.entries(OTHER_CODES).some(([command, code]) => line.startsWith(`${code}: ${command}`));

describe('the pages of docs', () => {
  it.each(shown)('have blocks that a shell takes: %s, %s', (_, __, { code }) => {
    expect(() => execFileSync('bash', ['-n', '-c', code], { stdio: 'pipe' })).not.toThrow();
  });

  it('say why a block of bash is not run', () => {
    const blocks = shown.filter(([, , { language, code }]) => language === 'bash' && !NOT_RUN.test(code));
    expect(blocks.map(([page, line]) => `${page}: ${line}`)).toEqual([]);
  });

  it.each(here)('have blocks that do what they say: %s, %s', async (page, _, { code }) => {
    const { failed, output } = await failures(page, code);
    const wrong = failed.filter((line) => !endedAsSaid(line));
    // What it printed says why.
    expect({ wrong, output: wrong.length === 0 ? '' : output }).toEqual({ wrong: [], output: '' });
  });

  it('name nothing as run elsewhere that is not there', () => {
    const programs = new Set(shown.map(([, , { code }]) => needs(code)));
    expect(Object.keys(RUN_ELSEWHERE).filter((program) => !programs.has(program))).toEqual([]);
    const silent = Object.entries(RUN_ELSEWHERE).filter(
      ([, [file, says]]) => !readFileSync(join(ROOT, file), 'utf8').includes(says),
    );
    expect(silent).toEqual([]);
    const commands = shown.flatMap(([, , block]) => commandsOf(block));
    expect(Object.keys(OTHER_CODES).filter((command) => !commands.some((each) => each.startsWith(command)))).toEqual(
      [],
    );
  });
});
