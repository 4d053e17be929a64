import { messageOf } from '@research-mirror/runtime/message';
import { isStopped, Stopped } from '@research-mirror/runtime/service';
import { InvalidConfig } from '../config/parse-values.ts';
import { AccountMoved, KeyRefused } from '../model/errors.ts';

/** The program's exit codes: part of the contract, scripts rely on them. */
export const EXIT = {
  DONE: 0,
  NO: 1,
  USAGE: 2,
  FAILED: 3,
  UNKNOWN: 4,
  INTERRUPTED: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What each tells, for the help and docs/commands.md. */
export const EXIT_MEANINGS: Readonly<Record<ExitCode, string>> = {
  [EXIT.DONE]: 'done, or yes',
  [EXIT.NO]: 'no: different, unhealthy, behind, rejected',
  [EXIT.USAGE]: 'wrong usage or configuration',
  [EXIT.FAILED]: 'could not find out or finish',
  [EXIT.UNKNOWN]: 'outcome of a submission unknown: never repeat it',
  [EXIT.INTERRUPTED]: 'interrupted',
};

/** The command line as it stands makes no sense: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Why a command ends early: nobody reads what it writes (`… | head -1`, a closed terminal). No message: who would read it? */
export class OutputClosed extends Stopped {
  constructor() {
    super('the output');
  }
}

/** What helps where the service refuses a key, or does not say whose it is. */
export const SET_A_KEY = 'set a good MIRROR_API_KEY';

export function exitCodeOf(error: unknown): ExitCode {
  if (isStopped(error)) return EXIT.INTERRUPTED;
  if (error instanceof InvalidConfig || error instanceof UsageError) return EXIT.USAGE;
  return EXIT.FAILED;
}

/** One line for people; with `stack` (LOG_LEVEL=debug) where it came from, too. */
export function failureText(error: unknown, stack: boolean): string {
  if (error instanceof OutputClosed) return '';
  if (isStopped(error)) return 'research-mirror: interrupted\n';
  const trace = stack && error instanceof Error && error.stack !== undefined ? `${error.stack}\n` : '';
  const remedy = error instanceof KeyRefused && !(error instanceof AccountMoved) ? `; ${SET_A_KEY}` : '';
  return `research-mirror: ${messageOf(error)}${remedy}\n${trace}`;
}

/** A terminal and a launcher may both deliver one Ctrl-C: within this time it is the same one. Milliseconds. */
const SAME = 500;

/**
 * Tells the first request to stop, which is granted in peace, from a repeated one by somebody who will not wait.
 * @returns a function to be called at each signal, with the monotonic time in milliseconds
 */
export function interrupts(): (now: number) => 'first' | 'same' | 'again' {
  let firstAt: number | undefined;
  return (now) => {
    if (firstAt !== undefined) return now - firstAt > SAME ? 'again' : 'same';
    firstAt = now;
    return 'first';
  };
}
