import type { Command } from 'commander';
import type { ExitCode } from './exit-code.ts';
import type { Shell } from './shell.ts';

/** What a command's file exports: it adds its command to the program, and loads what the command does when it is run. */
export type AddCommand = (program: Command, run: Runner) => void;

/** What a command does; `args` are commander's: its arguments, then its options. */
type Action<Args extends unknown[]> = (shell: Shell, ...args: Args) => Promise<ExitCode>;

/** Makes commander's action of ours: what it answers becomes the exit code. */
export type Runner = <Args extends unknown[]>(action: Action<Args>) => (...args: Args) => Promise<void>;

/**
 * An action that is loaded when it is run. A command is two files, what can be typed (`sync.ts`) and what is then done
 * (`sync-action.ts`): help and every other command load the first one only.
 */
export function loaded<Args extends unknown[]>(load: () => Promise<Action<Args>>): Action<Args> {
  return async (shell, ...args) => (await load())(shell, ...args);
}

/** Text behind a command's help. @param lines pairs of a command line and what it does */
export function examples(lines: readonly (readonly [command: string, does: string])[]): string {
  const widest = Math.max(...lines.map(([command]) => command.length));
  return [
    '',
    'Examples:',
    ...lines.map(([command, does]) => `  $ ${command.padEnd(widest)}  # ${does}`),
  ].join('\n');
}
