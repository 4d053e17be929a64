import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFolder, runProgram } from '../support/processes/program.ts';
import { askFish, isShellTested, PRINT, typeInto } from '../support/processes/shells.ts';

const folder = makeFolder();
const cwd = folder.path;
const SHELLS = ['bash', 'zsh', 'fish'] as const;

beforeAll(async () => {
  mkdirSync(join(cwd, 'files'));
  writeFileSync(join(cwd, 'files', 'two words.csv'), '');
  writeFileSync(join(cwd, 'files', 'jobs.csv'), '');
  for (const shell of SHELLS) {
    const { code, stdout, stderr } = await runProgram(['completion', shell], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    writeFileSync(join(cwd, `completion.${shell}`), stdout);
  }
});
afterAll(() => folder.remove());

/** What is typed, with a tab where it is to be completed, and what the program gets. */
const TYPED: readonly (readonly [line: string, args: readonly string[]])[] = [
  ['acc\tre\t1 --rem\t', ['accounts', 'retire', '1', '--remove-data']],
  ['submissions --state que\tli\t', ['submissions', '--state', 'queued', 'list']],
  ['submissions --state=que\t --sho\t', ['submissions', '--state=queued', '--show']],
  ['sync lists list_i\twatc\t', ['sync', 'lists', 'list_items', 'watchlist']],
  ['quarantine --limit 5 ret\tlist_i\t', ['quarantine', '--limit', '5', 'retry', 'list_items']],
  [
    'export research_jobs_v\t--cs\t-o files/tw\t',
    ['export', 'research_jobs_versions', '--csv', '-o', 'files/two words.csv'],
  ],
  ['export lists --output=files/j\t', ['export', 'lists', '--output=files/jobs.csv']],
  ['submit list_a\t--id 17', ['submit', 'list_analyze', '--id', '17']],
  ['sandbox --ids bey\t', ['sandbox', '--ids', 'beyond-2^53']],
  ['completion z\t', ['completion', 'zsh']],
  ['help expo\t', ['help', 'export']],
  // Nothing that could be meant: it stays as it is.
  ['sql sel\t', ['sql', 'sel']],
];

describe('completion', () => {
  it.runIf(isShellTested('bash'))('completes what is typed into bash', async () => {
    const read = await typeInto('bash', cwd, `source completion.bash; ${PRINT}`, linesOf(TYPED));
    expect(read).toEqual(TYPED.map(([, args]) => args));
  });

  it.runIf(isShellTested('zsh'))('completes what is typed into zsh', async () => {
    const setup = `autoload -Uz compinit; compinit -u; source completion.zsh; ${PRINT}`;
    const read = await typeInto('zsh', cwd, setup, linesOf(TYPED));
    expect(read).toEqual(TYPED.map(([, args]) => args));
  });

  it.runIf(isShellTested('fish'))('completes what is typed into fish', () => {
    for (const [line, args] of TYPED) {
      const [before = '', rest] = line.split(/\t(?=[^\t]*$)/);
      if (rest !== '') continue;
      // All but the last tab stand for what they complete to.
      const typed = before.includes('\t')
        ? `${args.slice(0, -1).join(' ')} ${before.split(/[\t ]/).at(-1) ?? ''}`
        : before;
      const last = args.at(-1) ?? '';
      expect({ line, offered: askFish(cwd, 'completion.fish', `research-mirror ${typed}`) }).toEqual({
        line,
        offered: line.startsWith('sql') ? [] : [last],
      });
    }
  });

  it('offers every command, and of each every option that its help has', async () => {
    const { stdout } = await runProgram(['--help'], { cwd });
    const commands = [...stdout.matchAll(/^ {2}([a-z]+) .*/gm)].map((match) => match[1] ?? '');
    expect(commands).toContain('completion');
    expect(askBash(['']).toSorted()).toEqual(commands.toSorted());
    for (const command of commands.filter((name) => name !== 'help')) {
      const help = (await runProgram([command, '--help'], { cwd })).stdout;
      const options = /^Options:\n([\s\S]*?)(?=\n\n|$(?![\s\S]))/m.exec(help)?.[1] ?? '';
      const flags = [...options.matchAll(/^ {2}(?:(-\w), )?(--[\w-]+)/gm)].flatMap((match) =>
        [match[1], match[2]].filter((flag) => flag !== undefined),
      );
      expect(flags).toContain('--help');
      expect({ command, offered: askBash([command, '-']).toSorted() }).toEqual({
        command,
        offered: flags.toSorted(),
      });
    }
  });

  it('is refused for a shell that it does not know', async () => {
    const { code, stdout, stderr } = await runProgram(['completion', 'bsah'], { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('no such shell: "bsah" (did you mean bash?); there are bash, zsh, fish');
  });
});

function linesOf(typed: typeof TYPED): readonly string[] {
  return typed.map(([line]) => `research-mirror ${line}`);
}

/** What bash's function offers behind these words, of which the last one is being typed. */
function askBash(words: readonly string[]): readonly string[] {
  const program = `source completion.bash; COMP_WORDS=(research-mirror "$@"); COMP_CWORD=$#
    eval "$(complete -p research-mirror | sed 's/^complete -F \\([^ ]*\\) .*/\\1/')"; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ['--norc', '--noprofile', '-c', program, 'bash', ...words];
  return execFileSync('bash', args, { cwd, encoding: 'utf8' })
    .split('\n')
    .filter((word) => word !== '');
}
