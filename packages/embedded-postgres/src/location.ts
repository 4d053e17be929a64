import { createHash } from 'node:crypto';
import { chmod, chown, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import { makeFolder } from '@research-mirror/runtime/make-folder';
import { type Binaries, copyBinaries, exists, makeLinks, run, whyNotRunnable } from './binaries.ts';
import { clustersIn, pointerName, UNFINISHED } from './embedded-state.ts';

/** Where the embedded server's programs and data are, and as which user it runs. */
export interface Location {
  /** Folder of PostgreSQL's programs, and their major version. */
  readonly bin: string;
  readonly major: number;
  /** PostgreSQL's data directory (PGDATA); it need not exist yet. */
  readonly pgData: string;
  /** Undefined: this program's own user. */
  readonly user: SystemUser | undefined;
}

/** Holds the databases whose `MIRROR_DATA_DIR` PostgreSQL's user can't enter. */
export const SYSTEM_FOLDER = '/var/lib/research-mirror';

/**
 * Finds a location that works, and checks that by using it:
 * - For an ordinary user the database is in `dataDir`. The programs run where npm put them, or as a copy in `dataDir`
 *   if that folder is read-only and links are missing.
 * - For root PostgreSQL runs as an existing unprivileged user. What that user can't reach (a checkout under a 0700
 *   home) goes elsewhere: the programs to `<systemFolder>/postgres-<version>`, the data to `<systemFolder>/<hash of
 *   dataDir>`; a file in `dataDir` names that folder.
 * @throws Unusable with the remedy
 */
export async function findLocation(
  dataDir: string,
  isRoot: boolean,
  systemFolder: string,
  binaries: Binaries,
): Promise<Location> {
  const major = Number.parseInt(binaries.version);
  await refuseOtherMajor(dataDir, binaries, major);
  const linked = await makeLinks(binaries);
  const pointer = join(dataDir, pointerName(major));
  const named = `pg${major}`;
  if (!isRoot) {
    if (await exists(pointer)) {
      throw new Unusable(
        `the embedded database of ${dataDir} was created by root and is in ${(await readFile(pointer, 'utf8')).trim()}. ` +
          'Run research-mirror as root again, or set MIRROR_DATA_DIR to another folder.',
      );
    }
    const pgData = join(dataDir, named);
    const owner = await ownerOf(pgData);
    if (owner !== undefined && owner !== process.getuid?.()) {
      throw new Unusable(
        `the embedded database in ${pgData} belongs to user ID ${owner}. Run research-mirror as that user ` +
          '(or as root, if root created it), or set MIRROR_DATA_DIR to another folder.',
      );
    }
    const bin = linked ? binaries.bin : await copyBinaries(binaries, dataDir);
    const problem = await whyNotRunnable(bin, undefined);
    if (problem !== undefined) throw notRunnable(problem);
    return { bin, major, pgData, user: undefined };
  }

  const own = join(systemFolder, createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 16));
  let folder = (await exists(pointer)) ? (await readFile(pointer, 'utf8')).trim() : dataDir;
  const user = await unprivilegedUser(await ownerOf(join(folder, named)));
  if (!(await canUse(folder, user))) {
    if (await exists(join(folder, named))) {
      throw new Unusable(
        `PostgreSQL runs as user ${user.name} because research-mirror runs as root, and ${user.name} can't reach its ` +
          `database in ${folder}. Let others enter the folders above it (chmod o+x), or run as ${user.name}.`,
      );
    }
    folder = own;
    await makeFolder(folder);
    await chmod(systemFolder, 0o755);
    await chmod(folder, 0o755);
    if (!(await canUse(folder, user))) {
      throw new Unusable(
        `PostgreSQL runs as user ${user.name} because research-mirror runs as root, but ${user.name} can reach neither ` +
          `${dataDir} nor ${folder}. Run as an ordinary user, or set DATABASE_URL.`,
      );
    }
    await writeFile(pointer, `${folder}\n`);
  }
  let { bin } = binaries;
  let problem = linked ? await whyNotRunnable(bin, user) : 'links are missing';
  if (problem !== undefined && binaries.ofNpm) {
    await makeFolder(systemFolder);
    await chmod(systemFolder, 0o755);
    bin = await copyBinaries(binaries, systemFolder);
    problem = await whyNotRunnable(bin, user);
  }
  if (problem !== undefined) throw notRunnable(problem, binaries.ofNpm ? undefined : user);
  return { bin, major, pgData: join(folder, named), user };
}

/** Refuses another major version's folder: a second database beside it would be an empty mirror that looks like it. */
async function refuseOtherMajor(dataDir: string, binaries: Binaries, major: number): Promise<void> {
  const majors = [...(await clustersIn(dataDir)).keys()];
  const other = majors.find((each) => each !== major);
  if (other === undefined) return;
  const remedy = binaries.ofNpm
    ? `Set MIRROR_PG_BIN to the folder of a PostgreSQL ${other}`
    : `Set MIRROR_PG_BIN to the folder of a PostgreSQL ${other}, unset it if npm's was used`;
  throw new Unusable(
    `MIRROR_DATA_DIR (${dataDir}) holds a database of PostgreSQL ${other} (pg${other}), but the embedded one is ` +
      `${binaries.version}${binaries.ofNpm ? '' : ', by MIRROR_PG_BIN'}. ${remedy}, or set MIRROR_DATA_DIR to another folder.`,
  );
}

/** Whether `user` can write in a folder below `folder`. Tries it. */
async function canUse(folder: string, user: SystemUser): Promise<boolean> {
  const probe = await mkdtemp(join(folder, UNFINISHED));
  try {
    await chown(probe, user.uid, user.gid);
    await run('/bin/sh', ['-c', ': > "$1/file"', 'sh', probe], user);
    return true;
  } catch {
    return false;
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

async function ownerOf(path: string): Promise<number | undefined> {
  return (await exists(path)) ? (await stat(path)).uid : undefined;
}

/** @param user who can't run a PostgreSQL of the machine's, which is not copied */
function notRunnable(problem: string, user?: SystemUser): Unusable {
  return new Unusable(
    user === undefined
      ? `the embedded PostgreSQL does not run on this machine (${problem}). Set DATABASE_URL to a PostgreSQL 15 or newer, or MIRROR_PG_BIN to the folder of one.`
      : `the PostgreSQL of MIRROR_PG_BIN does not run as user ${user.name} (${problem}), but it must, because ` +
          'research-mirror runs as root. Let others read and run it, or run research-mirror as an ordinary user.',
  );
}

/** A user of the operating system, from `/etc/passwd`. */
type SystemUser = ReturnType<typeof parsePasswd>[number];

/** Users that exist on most systems and have few rights, in the order in which they are tried. */
const USER_NAMES = ['postgres', '_postgres', 'nobody', 'daemon'];

/**
 * The user that runs PostgreSQL if this program runs as root. PostgreSQL's programs look it up in `/etc/passwd`.
 * @param owner uid of an existing database's owner: only that user can run its server
 * @throws Unusable if there is no such user
 */
export async function unprivilegedUser(owner: number | undefined): Promise<SystemUser> {
  const users = parsePasswd(await readFile('/etc/passwd', 'utf8')).filter(({ uid }) => uid > 0);
  const [found] =
    owner === undefined
      ? USER_NAMES.flatMap((name) => users.find((user) => user.name === name) ?? [])
      : users.filter(({ uid }) => uid === owner);
  if (found !== undefined) return found;
  throw new Unusable(
    owner === undefined
      ? `PostgreSQL refuses to run as root, and none of the users ${USER_NAMES.join(', ')} exists to run it. ` +
          'Run research-mirror as an ordinary user, or set DATABASE_URL.'
      : owner === 0
        ? 'the embedded database belongs to root, and PostgreSQL refuses to run as root. Give its folder to an ordinary user.'
        : `the embedded database belongs to user ID ${owner}, which is not in /etc/passwd. ` +
          'Add that user, or give the folder to an existing one.',
  );
}

/** Lines `name:password:uid:gid:…`; macOS writes the uid of nobody as -2. */
export function parsePasswd(text: string) {
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid, gid] = line.split(':');
    if (name === '' || name.startsWith('#') || uid === undefined || gid === undefined) return [];
    return [{ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }];
  });
}
