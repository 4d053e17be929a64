import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/*
 * Packages of others, installed beside the checkout at the exact versions that lie here, and kept from run to run: a
 * folder's name is a hash of what is in it.
 */

const run = promisify(execFile);
const PYTHON = join(import.meta.dirname, 'python');
const SCRIPTS = join(import.meta.dirname, 'scripts');
const COMPLETE = 'complete';

/**
 * A virtual environment with the packages of `python/requirements-<name>.txt`, from PyPI.
 * @returns its interpreter, and the versions of the packages named in `tell`
 */
export async function pythonPackages(
  scratch: string,
  name: string,
  tell: readonly string[],
): Promise<{ readonly python: string; readonly versions: string }> {
  const requirements = join(PYTHON, `requirements-${name}.txt`);
  const text = await readFile(requirements, 'utf8');
  const { stdout: version } = await run('python3', ['--version']).catch((error: unknown) => {
    throw new Error('this peer needs Python 3.11 with venv as python3: on Debian, apt-get install python3-venv', {
      cause: error,
    });
  });
  const folder = await installedOnce(join(scratch, `${name}-${hashOf(version + text)}`), async (into) => {
    await run('python3', ['-m', 'venv', into]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--requirement', requirements];
    await run(join(into, 'bin', 'python'), pip);
  });
  const pinned = new Map(text.split('\n').map((line) => line.split('==') as [string, string]));
  const versions = tell.map((each) => `${each} ${pinned.get(each) ?? 'unknown'}`);
  return { python: join(folder, 'bin', 'python'), versions: [...versions, version.trim()].join(', ') };
}

/**
 * The npm packages of `scripts/package-lock.json`.
 * @returns the file from whose place they are found, and the version of the one named
 */
export async function npmPackages(
  scratch: string,
  tell: string | undefined,
): Promise<{ readonly from: string; readonly version: readonly string[] }> {
  const lock = await readFile(join(SCRIPTS, 'package-lock.json'), 'utf8');
  const folder = await installedOnce(join(scratch, `npm-${hashOf(lock)}`), async (into) => {
    await mkdir(into, { recursive: true });
    for (const name of ['package.json', 'package-lock.json']) await copyFile(join(SCRIPTS, name), join(into, name));
    await run('npm', ['ci', '--silent', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: into });
  });
  const { packages } = JSON.parse(lock) as { packages: Record<string, { version?: string }> };
  const version = packages[`node_modules/${tell ?? ''}`]?.version;
  return {
    from: join(folder, 'package.json'),
    version: tell === undefined || version === undefined ? [] : [`${tell} ${version}`],
  };
}

/** One that was broken off is not taken for a whole one. */
async function installedOnce(folder: string, install: (into: string) => Promise<void>): Promise<string> {
  if (existsSync(join(folder, COMPLETE))) return folder;
  process.stderr.write(`installing packages into ${folder}\n`);
  await rm(folder, { recursive: true, force: true });
  try {
    await install(folder);
  } catch (error) {
    throw new Error(
      `packages could not be installed into ${folder}: is the registry reachable, and has this Python all of them (3.11 has)?`,
      {
        cause: error,
      },
    );
  }
  await writeFile(join(folder, COMPLETE), '');
  return folder;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
