import { execFile } from 'node:child_process';
import { ROOT } from '../support/rules/source-files.ts';

export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in the repository's root. */
export function execute(
  [file = '', ...args]: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<CommandOutcome> {
  return new Promise((resolve) => {
    execFile(file, args, { cwd: ROOT, env, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : error === null ? 0 : 127;
      resolve({ code, stdout, stderr });
    });
  });
}

/** The same. @returns what it printed @throws where it ends with anything but 0 */
export async function executeWell(
  command: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<string> {
  const { code, stdout, stderr } = await execute(command, env);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}\n${stdout}${stderr}`);
  return stdout;
}
