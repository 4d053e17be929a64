import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import type { Scrubber } from '@research-mirror/runtime/scrub';
import { isStopped, Stopped } from '@research-mirror/runtime/service';
import { fstatSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stdin } from 'node:process';
import { createInterface } from 'node:readline';
import type { Environment } from '../config/environment.ts';
import { InvalidConfig } from '../config/parse-values.ts';
import { AccountMoved, KeyRefused } from '../model/errors.ts';

/** A text stream: `process.stdout`, `process.stderr`, or a test's. Bytes may be written unless it is a terminal. */
export interface Terminal {
  write(text: string | Uint8Array): unknown;
  /** The reader is behind; `drain` reports when it has caught up. */
  readonly writableNeedDrain?: boolean;
  once?(event: 'drain', listener: () => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Everything a command gets from the outside world. main.ts makes the real one. */
export interface Shell {
  /** Includes the variables of `.env`. */
  readonly env: Environment;
  readonly out: Terminal;
  /** Progress, messages and logs. */
  readonly err: Terminal;
  /** Aborted when the user interrupts the program, or when the reader of its output goes away. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly scrubber: Scrubber;
}

/** The program's exit codes. Scripts rely on them. */
export const EXIT = { DONE: 0, NO: 1, USAGE: 2, FAILED: 3, UNKNOWN: 4, INTERRUPTED: 130 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** For the help and docs/commands.md. */
export const EXIT_MEANINGS: Readonly<Record<ExitCode, string>> = {
  [EXIT.DONE]: 'done, or yes',
  [EXIT.NO]: 'no: different, unhealthy, behind, rejected',
  [EXIT.USAGE]: 'wrong usage or configuration',
  [EXIT.FAILED]: 'could not find out or finish',
  [EXIT.UNKNOWN]: 'outcome of a submission unknown: never repeat it',
  [EXIT.INTERRUPTED]: 'interrupted',
};

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The reader of the output has gone away (`… | head -1`, a closed terminal). Nothing is printed for it. */
export class OutputClosed extends Stopped {
  constructor() {
    super('the output');
  }
}

/** The remedy where the service refuses a key, or does not say whose it is. */
export const SET_A_KEY = 'Set a working key in MIRROR_API_KEY';

export function exitCodeOf(error: unknown): ExitCode {
  if (isStopped(error)) return EXIT.INTERRUPTED;
  if (error instanceof InvalidConfig || error instanceof UsageError) return EXIT.USAGE;
  return EXIT.FAILED;
}

/** One line for people. @param stack adds the stack trace (LOG_LEVEL=debug) */
export function failureText(error: unknown, stack: boolean): string {
  if (error instanceof OutputClosed) return '';
  if (isStopped(error)) return 'research-mirror: interrupted\n';
  const trace = stack && error instanceof Error && error.stack !== undefined ? `${error.stack}\n` : '';
  const remedy = error instanceof KeyRefused && !(error instanceof AccountMoved) ? `. ${SET_A_KEY}` : '';
  return `research-mirror: ${messageOf(error)}${remedy}\n${trace}`;
}

/** Signals within this time (ms) are one Ctrl-C: a terminal and a launcher may both deliver it. */
const SAME_SIGNAL_MS = 500;

/** Distinguishes the first signal, which stops the program, from an impatient one. `now` is monotonic, ms. */
export function interrupts(): (now: number) => 'first' | 'same' | 'again' {
  let firstAt: number | undefined;
  return (now) => {
    if (firstAt !== undefined) return now - firstAt > SAME_SIGNAL_MS ? 'again' : 'same';
    firstAt = now;
    return 'first';
  };
}

/** Prints an answer and a line break, without secrets. */
export function say({ out, scrubber }: Shell, text: string): void {
  out.write(scrubber.scrub(`${text}\n`));
}

/** Reports a problem on stderr, without secrets. */
export function complain({ err, scrubber }: Shell, text: string): void {
  err.write(scrubber.scrub(`research-mirror: ${text}\n`));
}

/** Whether `terminal` shows colours and lines that replace themselves. */
export function isInteractive(terminal: Terminal, env: Environment): boolean {
  return terminal.isTTY === true && env['TERM'] !== 'dumb';
}

/** Writes a line to the terminal. Undefined if neither output is one. */
export function terminalOf({ out, err }: Pick<Shell, 'out' | 'err'>): ((line: string) => void) | undefined {
  const terminal = [err, out].find(({ isTTY }) => isTTY === true);
  return terminal === undefined ? undefined : (line) => void terminal.write(`${line}\n`);
}

/** See https://no-color.org: any value except an empty one switches colour off. */
export function hasColour(terminal: Terminal, env: Environment): boolean {
  return isInteractive(terminal, env) && (env['NO_COLOR'] ?? '') === '';
}

/** Undefined if it is no terminal, or one that does not know its width (it reports 0). */
export function widthOfTerminal(terminal: Terminal): number | undefined {
  return terminal.isTTY === true && terminal.columns !== undefined && terminal.columns > 0
    ? terminal.columns
    : undefined;
}

/** Resolves when the reader has caught up; undefined: there is room now. Rejects with the signal's reason. */
export function roomIn(terminal: Terminal, signal: AbortSignal): Promise<void> | undefined {
  if (terminal.writableNeedDrain !== true || terminal.once === undefined) return undefined;
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason as Error);
    if (signal.aborted) return giveUp();
    // A reader that has gone away never makes room.
    signal.addEventListener('abort', giveUp, { once: true });
    terminal.once?.('drain', () => {
      signal.removeEventListener('abort', giveUp);
      resolve();
    });
  });
}

/** A stream of the process. A file gets each text whole: Node's stream ignores a partial write on a full disk. */
export function wholeOutput(stream: Terminal & { readonly fd: number }, onError: (error: Error) => void): Terminal {
  if (!fstatSync(stream.fd).isFile()) return stream;
  return {
    write: (text) => {
      try {
        writeFileSync(stream.fd, text);
      } catch (error) {
        onError(error as Error);
      }
    },
  };
}

/** The path relative to the working directory if it is inside it, otherwise the whole path. */
export function shortPath(path: string): string {
  const seen = relative('', path);
  return seen === '' ? '.' : seen.startsWith('..') ? path : seen;
}

/** Asks the user to type `word`. @throws UsageError if there is no terminal (`--yes` answers); the signal's reason */
export async function askPerson(shell: Shell, question: string, word: string): Promise<boolean> {
  if (!stdin.isTTY || shell.err.isTTY !== true)
    throw new UsageError(
      "can't ask for confirmation without a terminal. Add --yes to go ahead, or --dry-run to see what would happen.",
    );
  shell.err.write(`${question} Type "${word}": `);
  // Node sets a terminal to non-blocking, so reading it by `fs` fails with EAGAIN.
  const lines = createInterface({ input: stdin, signal: shell.signal });
  for await (const line of lines) return line.trim() === word;
  shell.signal.throwIfAborted();
  return false;
}

/** How a command is used. Every command and the help load it, so it imports neither Postgres nor HTTP. */
export interface Definition {
  readonly summary: string;
  readonly description: string;
  /** Replaces commander's usage line. */
  readonly usage?: string;
  /** Actions of the command, the default first, each with the options that do not apply to it. */
  readonly actions?: Readonly<Record<string, readonly string[]>>;
  readonly arguments?: Readonly<Record<string, string>>;
  readonly options?: Readonly<Record<string, string>>;
  readonly examples: readonly (readonly [command: string, does: string])[];
  /** Commander passes the action's name (if there are actions), the arguments and the options. */
  readonly load: () => Promise<(shell: Shell, ...args: never[]) => Promise<ExitCode>>;
}

/** Options as commander passes them: names without a value, and names with one. */
export type Options<Flag extends string, Valued extends string = never> = {
  readonly [Name in Flag]?: boolean;
} & { readonly [Name in Valued]?: string };

export const DEMO = { '--demo': "use the demo's mirror, even if you have one of your own" };
export const JSON_ON_STDOUT = { '--json': 'print JSON on stdout' };
