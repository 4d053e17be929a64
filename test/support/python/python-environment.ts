import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../rules/source-files.ts';

const run = promisify(execFile);

/**
 * Python in a virtual environment with the packages of a requirements file. It is made once for each version of that
 * file, in `dist`, from PyPI (or what pip is configured to ask).
 * @param requirements path of the file: every package, at an exact version
 * @param system the Python to make it with; 3.11 or newer
 * @returns path of its interpreter
 * @throws with the remedy, where there is no such Python, it has no venv, or packages can't be installed
 */
export async function pythonEnvironment(requirements: string, system = 'python3'): Promise<string> {
  const { stdout: version } = await run(system, ['--version']).catch(
    failing(
      `these tests need Python 3.11 or newer, and "${system}" does not run: ` +
        'on Debian, apt-get install python3-venv (npm test needs no Python)',
    ),
  );
  const packages = await readFile(requirements);
  const name = createHash('sha256').update(version).update(packages).digest('hex').slice(0, 12);
  const folder = join(ROOT, 'dist', 'python', name);
  const python = join(folder, 'bin', 'python');
  const complete = join(folder, 'complete');
  if (existsSync(complete)) return python;
  await rm(folder, { recursive: true, force: true });
  await run(system, ['-m', 'venv', folder]).catch(
    failing(`${system} can't make a virtual environment: on Debian, apt-get install python3-venv`),
  );
  const install = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--requirement', requirements];
  await run(python, install).catch(
    failing(
      `${requirements} could not be installed: is ${system} 3.11 or newer, PyPI reachable, or pip’s index-url right?`,
    ),
  );
  // One that was broken off is not taken for a whole one.
  await writeFile(complete, '');
  return python;
}

const failing =
  (message: string) =>
  (cause: unknown): never => {
    throw new Error(message, { cause });
  };
