import type { Clock } from '@research-mirror/runtime/clock';
import type { Scrubber } from '@research-mirror/runtime/scrub';
import { fstatSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stdin } from 'node:process';
import { createInterface } from 'node:readline';
import type { Environment } from '../config/environment.ts';
import { type ExitCode, UsageError } from './exit-code.ts';

/** A stream for text, and bytes where it is no terminal: `process.stdout`, `process.stderr`, or a test's. */
export interface Terminal {
  write(text: string | Uint8Array): unknown;
  /** What was written waits for its reader; `drain` tells when it has gone. */
  readonly writableNeedDrain?: boolean;
  once?(event: 'drain', listener: () => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** All that a command gets of the world outside; main.ts makes the real one. */
export interface Shell {
  /** With `.env` already added. */
  readonly env: Environment;
  readonly out: Terminal;
  /** Everything else: progress, messages, logs. */
  readonly err: Terminal;
  /** Aborted when the user interrupts the program, or nobody reads its answer any more. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly scrubber: Scrubber;
}

/** Prints an answer, without secrets, and a line break. */
export function say({ out, scrubber }: Shell, text: string): void {
  out.write(scrubber.scrub(`${text}\n`));
}

/** Says on stderr, without secrets, what went wrong or is missing. */
export function complain({ err, scrubber }: Shell, text: string): void {
  err.write(scrubber.scrub(`research-mirror: ${text}\n`));
}

/** Whether `terminal` may be written to in colour and with lines that replace themselves. */
export function isInteractive(terminal: Terminal, env: Environment): boolean {
  return terminal.isTTY === true && env['TERM'] !== 'dumb';
}

/** Writes a line where a person reads it; undefined: neither output is a terminal. */
export function terminalOf({ out, err }: Pick<Shell, 'out' | 'err'>): ((line: string) => void) | undefined {
  const terminal = [err, out].find(({ isTTY }) => isTTY === true);
  return terminal === undefined ? undefined : (line) => void terminal.write(`${line}\n`);
}

/** https://no-color.org: any value but an empty one switches colour off. */
export function hasColour(terminal: Terminal, env: Environment): boolean {
  return isInteractive(terminal, env) && (env['NO_COLOR'] ?? '') === '';
}

/** Columns of a terminal; undefined for anything else, and for a terminal that does not know (it says 0). */
export function widthOfTerminal(terminal: Terminal): number | undefined {
  return terminal.isTTY === true && terminal.columns !== undefined && terminal.columns > 0
    ? terminal.columns
    : undefined;
}

/**
 * Where the reader of `terminal` is slower than its writer: resolves when it has caught up, so that what it has not
 * read yet takes no memory. Undefined where there is room now. Rejects with the signal's reason.
 */
export function roomIn(terminal: Terminal, signal: AbortSignal): Promise<void> | undefined {
  if (terminal.writableNeedDrain !== true || terminal.once === undefined) return undefined;
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason as Error);
    if (signal.aborted) return giveUp();
    // A reader that goes away never makes room.
    signal.addEventListener('abort', giveUp, { once: true });
    terminal.once?.('drain', () => {
      signal.removeEventListener('abort', giveUp);
      resolve();
    });
  });
}

/**
 * A stream of the process as commands write to it. Where it is a file, each text is written whole: Node's own stream
 * takes no notice when a full disk has taken a part of one.
 * @param onError gets what the system says where a file can't be written
 */
export function wholeOutput(
  stream: Terminal & { readonly fd: number },
  onError: (error: Error) => void,
): Terminal {
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

/** A path for people: as seen from the working directory where it lies within, else whole. */
export function shortPath(path: string): string {
  const seen = relative('', path);
  return seen === '' ? '.' : seen.startsWith('..') ? path : seen;
}

/**
 * Asks a person to type `word`.
 * @returns whether they did
 * @throws UsageError where nobody sits at a terminal: `--yes` says it beforehand; the signal's reason
 */
export async function askPerson(shell: Shell, question: string, word: string): Promise<boolean> {
  if (!stdin.isTTY || shell.err.isTTY !== true) {
    throw new UsageError('nobody can be asked here: add --yes, or --dry-run to see what would go');
  }
  shell.err.write(`${question} Type "${word}": `);
  // Node reads a terminal without blocking, so nothing else can: `fs` gets EAGAIN.
  const lines = createInterface({ input: stdin, signal: shell.signal });
  for await (const line of lines) return line.trim() === word;
  shell.signal.throwIfAborted();
  return false;
}

/** What a command does. Commander gives it the action's name (where there are actions), the arguments, the options. */
type Action = (shell: Shell, ...args: never[]) => Promise<ExitCode>;

/** What can be typed of a command. Help and every other command load it, too: it imports neither Postgres nor HTTP. */
export interface Definition {
  readonly summary: string;
  readonly description: string;
  /** Replaces commander's own line of usage. */
  readonly usage?: string;
  /** What it can do where that is several things, the usual one first, each with the options that mean nothing to it. */
  readonly actions?: Readonly<Record<string, readonly string[]>>;
  readonly arguments?: Readonly<Record<string, string>>;
  readonly options?: Readonly<Record<string, string>>;
  readonly examples: readonly (readonly [command: string, does: string])[];
  readonly load: () => Promise<Action>;
}

/** Options as commander gives them: by names of those without a value, and of those with one. */
export type Options<Flag extends string, Valued extends string = never> = {
  readonly [Name in Flag]?: boolean;
} & { readonly [Name in Valued]?: string };

export const DEMO = { '--demo': "the demo's mirror, when there is one of your own too" };
export const JSON_ON_STDOUT = { '--json': 'as JSON on stdout' };
