import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { isatty } from 'node:tty';
import type { Shell } from './shell.ts';
import { UsageError } from './usage-error.ts';

const STANDARD_INPUT = 0;

/**
 * Asks a person to type `word`.
 * @returns whether they did
 * @throws UsageError where nobody sits at a terminal: `--yes` says it beforehand; the signal's reason
 */
export async function askPerson(shell: Shell, question: string, word: string): Promise<boolean> {
  if (!isatty(STANDARD_INPUT) || shell.err.isTTY !== true) {
    throw new UsageError('nobody can be asked here: add --yes, or --dry-run to see what would go');
  }
  shell.err.write(`${question} Type "${word}": `);
  const lines = createInterface({
    input: createReadStream('', { fd: STANDARD_INPUT, autoClose: false }),
    signal: shell.signal,
  });
  for await (const line of lines) return line.trim() === word;
  shell.signal.throwIfAborted();
  return false;
}
