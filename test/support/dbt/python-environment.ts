import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { ROOT } from '../rules/source-files.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Python with dbt installed. */
    python: string;
  }
}

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
const run = promisify(execFile);

/** Vitest's set-up of the project `dbt`: without Python the run fails, it does not pass over its tests. */
export async function setup(project: TestProject): Promise<void> {
  project.provide('python', await pythonEnvironment());
}

/**
 * Python in a virtual environment with the packages of requirements.txt. It is made once for each version of that file,
 * in `dist`, from PyPI (or what pip is configured to ask).
 * @param system the Python to make it with; 3.11 or newer
 * @returns path of its interpreter
 * @throws with the remedy, where there is no such Python, it has no venv, or packages can't be installed
 */
export async function pythonEnvironment(system = 'python3'): Promise<string> {
  const version = await versionOf(system);
  const packages = await readFile(REQUIREMENTS);
  const name = createHash('sha256').update(version).update(packages).digest('hex').slice(0, 12);
  const folder = join(ROOT, 'dist', 'dbt', name);
  const python = join(folder, 'bin', 'python');
  const complete = join(folder, 'complete');
  if (existsSync(complete)) return python;
  await rm(folder, { recursive: true, force: true });
  await run(system, ['-m', 'venv', folder]).catch((error: unknown) => {
    throw new Error(`${system} can't make a virtual environment: on Debian, apt-get install python3-venv`, {
      cause: error,
    });
  });
  await run(python, ['-m', 'pip', 'install', '--quiet', '--no-deps', '--requirement', REQUIREMENTS]).catch(
    (error: unknown) => {
      throw new Error(
        `dbt could not be installed: is ${system} 3.11 or newer, PyPI reachable, or pip’s index-url right?`,
        {
          cause: error,
        },
      );
    },
  );
  // One that was broken off is not taken for a whole one.
  await writeFile(complete, '');
  return python;
}

async function versionOf(system: string): Promise<string> {
  const { stdout } = await run(system, ['--version']).catch((error: unknown) => {
    throw new Error(
      `the tests of the dbt package need Python 3.11 or newer, and "${system}" does not run: ` +
        'on Debian, apt-get install python3-venv (npm test needs no Python)',
      { cause: error },
    );
  });
  return stdout;
}
