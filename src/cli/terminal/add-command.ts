import type { Command } from 'commander';
import type { ExitCode } from './exit-code.ts';
import type { Shell } from './shell.ts';

/** What each command's file exports: it adds its command to the program. */
export type AddCommand = (program: Command, run: Runner) => void;

/** Makes commander's action of ours: what it answers becomes the exit code. */
export type Runner = <Args extends unknown[]>(
  action: (shell: Shell, ...args: Args) => Promise<ExitCode>,
) => (...args: Args) => Promise<void>;

/** Text behind a command's help. @param lines pairs of a command line and what it does */
export function examples(lines: readonly (readonly [command: string, does: string])[]): string {
  const widest = Math.max(...lines.map(([command]) => command.length));
  return [
    '',
    'Examples:',
    ...lines.map(([command, does]) => `  $ ${command.padEnd(widest)}  # ${does}`),
  ].join('\n');
}
