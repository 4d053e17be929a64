import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtProgram } from '../../support/processes/built-programs.ts';
import { accountEnv } from '../../support/processes/program.ts';
import { createSystem, type System } from '../../support/processes/system.ts';
import { blocksOf, commandsOf } from '../../support/readme/readme.ts';
import { ROOT } from '../../support/rules/source-files.ts';

/** Programs that need a machine of their own: a block that has one is run by the file beside it, which names it, too. */
const RUN_ELSEWHERE: Readonly<Record<string, string>> = {
  docker: 'test/containers/run.ts',
  kubectl: 'test/kubernetes/manifests.test.ts',
  pg_dump: 'test/system/databases/pg-dump.test.ts',
  pg_restore: 'test/system/databases/pg-dump.test.ts',
  duckdb: 'test/duckdb/parquet-recipe.test.ts',
  'kysely-codegen': 'test/system/surfaces/types-recipe.test.ts',
};

/** Commands that end with another code than 0 in the account that this test mirrors. */
const OTHER_CODES: Readonly<Record<string, number>> = {};

/**
 * Why a block of `bash`, as it stands there, can't be run by a test: it has a value to fill in, another's machine, an
 * account's rights on this one, or a process that stays. One of `sh` is run.
 */
const NOT_RUN =
  /…|example\.com|\bsudo\b|\bnpm (?:ci|exec|install|pack|run|start)\b|\$OWNER\b|\$PASSWORD\b|research-mirror (?:start|sandbox)\b|bi\/superset|data\/pg18/;

const shown = readdirSync(join(ROOT, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .flatMap((page) =>
    blocksOf(outOfLists(readFileSync(join(ROOT, 'docs', page), 'utf8')))
      .filter(({ language }) => language === 'sh' || language === 'bash')
      .map((block) => [page, block.code.split('\n', 1)[0] ?? '', block] as const),
  );
const needs = (code: string): string | undefined =>
  Object.keys(RUN_ELSEWHERE).find((program) => new RegExp(`(?<![\\w-])${program}(?![\\w-])`).test(code));

/** Pages that change the account most come last. */
const LAST = ['accounts.md'];
const here = shown
  .filter(([, , { language, code }]) => language === 'sh' && needs(code) === undefined)
  .toSorted(([a], [b]) => LAST.indexOf(a) - LAST.indexOf(b));

/** A block that is in a list is as far left as one that is not. */
function outOfLists(text: string): string {
  return text.replaceAll(/^( +)```[\s\S]*?^\1```$/gm, (block, indent: string) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

let system: System;
let bin: string;

beforeAll(async () => {
  system = await createSystem({ keys: 'docs-key=42' });
  await system.sync(['--full'], { env: { MIRROR_SETTLE: '1s' } });
  bin = join(system.cwd, 'bin');
  mkdirSync(bin);
  const program = `exec "${process.execPath}" "${await builtProgram('main')}" "$@"`;
  executable('research-mirror', program);
  executable(
    'npx',
    `[ "$1" = research-mirror ] || { echo "npx $1 is run by no test" >&2; exit 127; }\nshift\n${program}`,
  );
});
afterAll(() => system.stop());

function executable(name: string, script: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
}

/** Runs a block in a folder of its own. @returns each command that ended with another code than 0, as `code: command` */
async function failures(code: string): Promise<{ failed: string[]; output: string }> {
  const cwd = mkdtempSync(join(system.cwd, 'block-'));
  writeFileSync(join(cwd, 'companies.json'), '{"companies": [{"company_url": "https://example.com"}]}');
  const env = { ...accountEnv(system.databaseUrl, system.sandbox), MIRROR_SETTLE: '1s', HOME: cwd };
  const script = `set -E; trap 'echo "ENDED $?: $BASH_COMMAND" >&2' ERR\n${code}\ntrue`;
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
  return { failed: status === 0 ? failed : [...failed, `the block ended with ${String(status)}`], output };
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

  it.each(here)('have blocks that do what they say: %s, %s', async (_, __, { code }) => {
    const { failed, output } = await failures(code);
    expect(
      failed.filter((line) => !endedAsSaid(line)),
      output,
    ).toEqual([]);
  });

  it('name nothing as run elsewhere that is not there', () => {
    const programs = new Set(shown.map(([, , { code }]) => needs(code)));
    expect(Object.keys(RUN_ELSEWHERE).filter((program) => !programs.has(program))).toEqual([]);
    const silent = Object.entries(RUN_ELSEWHERE).filter(
      ([program, file]) => !readFileSync(join(ROOT, file), 'utf8').includes(program),
    );
    expect(silent).toEqual([]);
    const commands = shown.flatMap(([, , block]) => commandsOf(block));
    expect(Object.keys(OTHER_CODES).filter((command) => !commands.some((each) => each.startsWith(command)))).toEqual(
      [],
    );
  });
});
