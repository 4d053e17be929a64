import { execFileSync, spawn, spawnSync } from 'node:child_process';

export type ShellName = 'bash' | 'zsh' | 'fish';

/** Of util-linux: gives a program a terminal of its own, and types what it reads. */
const TERMINAL = 'script';
const hasTerminal = /util-linux/.test(spawnSync(TERMINAL, ['--version'], { encoding: 'utf8' }).stdout ?? '');

/**
 * Whether tests in a real shell run: where it is installed, unless TEST_SHELLS is `off`. `required` makes a missing one
 * a failure; otherwise it is said on stderr, for `npm test` needs nothing but Node.
 */
export function isShellTested(shell: ShellName): boolean {
  const wish = process.env['TEST_SHELLS'];
  if (wish === 'off') return false;
  const found = spawnSync(shell, ['--version']).error === undefined;
  // fish says by itself what it would complete; the others are typed into.
  if (wish === 'required' || (found && (hasTerminal || shell === 'fish'))) return true;
  const missing = found ? '"script" of util-linux' : shell;
  process.stderr.write(`${missing} is not installed; NOT TESTED: completion in ${shell}\n`);
  return false;
}

/** Options by which a shell reads no settings of the user. */
const BARE = { bash: '--norc --noprofile -i', zsh: '-f -i' } as const;

/**
 * Types lines into a real shell on a terminal of its own; a tab in them completes.
 * @param setup a line that comes first: it defines the program as what prints its arguments with `PRINT`
 * @returns what each line ran the program with
 */
export async function typeInto(
  shell: 'bash' | 'zsh',
  cwd: string,
  setup: string,
  lines: readonly string[],
): Promise<readonly (readonly string[])[]> {
  const child = spawn(
    TERMINAL,
    ['--quiet', '--return', '--command', `${shell} ${BARE[shell]}`, '/dev/null'],
    {
      cwd,
      env: { PATH: process.env['PATH'], HOME: cwd, TERM: 'dumb' },
      stdio: 'pipe',
    },
  );
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  child.stdin.end([setup, ...lines, 'exit'].map((line) => `${line}\n`).join(''));
  await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return [...text.matchAll(/<<(.*?)>>/g)].map((match) => (match[1] ?? '').split('|').slice(0, -1));
}

/** A function of bash and zsh that stands for the program, and prints its arguments. */
export const PRINT = `research-mirror() { local all=; for each in "$@"; do all="$all$each|"; done; echo "<""<$all>"">"; }`;

const FISH: ShellName = 'fish';

/** What fish would complete a line to. */
export function askFish(cwd: string, script: string, line: string): readonly string[] {
  const asked = `source ${script}; complete -C '${line}'`;
  const text = execFileSync(FISH, ['--no-config', '-c', asked], { cwd, encoding: 'utf8' });
  return text
    .split('\n')
    .filter((each) => each !== '')
    .map((each) => each.replace(/\t.*/, ''));
}
