import { stdin } from 'node:process';
import { createInterface } from 'node:readline';
import { UsageError } from './exit-code.ts';
import type { Shell } from './shell.ts';

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
