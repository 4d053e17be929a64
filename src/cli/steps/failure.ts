import { InvalidConfig } from '../../config/invalid.ts';
import { AccountMoved, KeyRefused } from '../../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { isStopped } from '@research-mirror/runtime/service';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { OutputClosed } from '../terminal/output-closed.ts';
import { UsageError } from '../terminal/usage-error.ts';

/** What helps where the service refuses a key, or does not say whose it is. */
export const SET_A_KEY = 'set a good MIRROR_API_KEY';

/** What a command's failure means for whoever called the program. */
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
