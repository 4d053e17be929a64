import type { Environment } from '../../config/environment.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Scrubber } from '@research-mirror/runtime/scrub';

/** A stream for text: `process.stdout`, `process.stderr`, or a test's. */
export interface Terminal {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  /** Width in characters, of a terminal. */
  readonly columns?: number;
}

/** All that a command gets of the world outside; main.ts makes the real one. */
export interface Shell {
  /** With `.env` already added. */
  readonly env: Environment;
  /** Answers. */
  readonly out: Terminal;
  /** Everything else: progress, messages, logs. */
  readonly err: Terminal;
  /** Aborted when the user interrupts the program, or nobody reads its answer any more. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly scrubber: Scrubber;
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
