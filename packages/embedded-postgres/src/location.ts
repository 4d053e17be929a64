import { createHash } from 'node:crypto';
import { chmod, chown, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import { makeFolder } from '@research-mirror/runtime/make-folder';
import {
  copyBinaries,
  exists,
  findBinaries,
  majorOf,
  makeLinks,
  run,
  whyNotRunnable,
  type Binaries,
} from './binaries.ts';
import { clustersIn, pointerName } from './embedded-state.ts';
import { unprivilegedUser, type SystemUser } from './system-user.ts';

/** Where the embedded server's programs and data are, and as which user it runs. */
export interface Location {
  /** Folder of PostgreSQL's programs. */
  readonly bin: string;
  /** Their major version. */
  readonly major: number;
  /** PostgreSQL's data directory (PGDATA); it need not exist yet. */
  readonly pgData: string;
  /** Undefined: this program's own user. */
  readonly user: SystemUser | undefined;
}

/** Holds the databases whose `MIRROR_DATA_DIR` PostgreSQL's user can't enter. */
export const SYSTEM_FOLDER = '/var/lib/research-mirror';

/** Prefix of temporary folders: ensureDataDirectory removes those that a killed program left. */
export const UNFINISHED = 'pg.new-';

/**
 * Finds a location that works, and checks that by using it:
 * - For an ordinary user the database is in `dataDir`. The programs run where npm put them; they are copied into
 *   `dataDir` where that folder is read-only and links are missing.
 * - For root PostgreSQL runs as an existing unprivileged user. What that user can't reach (a checkout under a 0700
 *   home) goes elsewhere: the programs to `<systemFolder>/postgres-<version>`, the data to
 *   `<systemFolder>/<hash of dataDir>`; a file in `dataDir` names that folder.
 * @throws Unusable with the remedy
 */
export async function findLocation(
  dataDir: string,
  isRoot: boolean,
  systemFolder: string,
  given?: Binaries,
): Promise<Location> {
  const binaries = given ?? (await findBinaries());
  const major = majorOf(binaries);
  await refuseOtherMajor(dataDir, binaries);
  const linked = await makeLinks(binaries);
  const pointer = join(dataDir, pointerName(major));
  const named = `pg${major}`;
  if (!isRoot) {
    if (await exists(pointer)) {
      throw new Unusable(
        `the embedded database of ${dataDir} was created by root and is in ${(await readFile(pointer, 'utf8')).trim()}: ` +
          'run research-mirror as root again, or set MIRROR_DATA_DIR to another folder.',
      );
    }
    const pgData = join(dataDir, named);
    await checkOwner(pgData);
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
          `database in ${folder}: allow others to pass the folders above it (chmod o+x), or run as ${user.name}.`,
      );
    }
    folder = own;
    await makeFolder(folder);
    await chmod(systemFolder, 0o755);
    await chmod(folder, 0o755);
    if (!(await canUse(folder, user))) {
      throw new Unusable(
        `PostgreSQL runs as user ${user.name} because research-mirror runs as root, but ${user.name} can reach neither ` +
          `${dataDir} nor ${folder}: run as an ordinary user, or set DATABASE_URL.`,
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

/**
 * Refuses a folder with the database of another major version: a second one begun beside it would be an empty mirror
 * that looks like the first one, and which of the two is read would depend on a variable.
 */
async function refuseOtherMajor(dataDir: string, binaries: Binaries): Promise<void> {
  const majors = [...(await clustersIn(dataDir)).keys()];
  const other = majors.find((each) => each !== majorOf(binaries));
  if (other === undefined) return;
  const remedy = binaries.ofNpm
    ? `set MIRROR_PG_BIN to the folder of a PostgreSQL ${other}`
    : `let MIRROR_PG_BIN name the folder of a PostgreSQL ${other}, or unset it where npm's was used`;
  throw new Unusable(
    `MIRROR_DATA_DIR (${dataDir}) holds a database of PostgreSQL ${other} (pg${other}), and the embedded one is ` +
      `${binaries.version}${binaries.ofNpm ? '' : ', by MIRROR_PG_BIN'}: ${remedy}, or set MIRROR_DATA_DIR to another folder.`,
  );
}

/** True when `user` can write in a folder below `folder`: it tries. */
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

async function checkOwner(pgData: string): Promise<void> {
  const owner = await ownerOf(pgData);
  if (owner !== undefined && owner !== process.getuid?.()) {
    throw new Unusable(
      `the embedded database in ${pgData} belongs to user ID ${owner}: run research-mirror as that user ` +
        '(or as root, if root created it), or set MIRROR_DATA_DIR to another folder.',
    );
  }
}

async function ownerOf(path: string): Promise<number | undefined> {
  return (await exists(path)) ? (await stat(path)).uid : undefined;
}

/** @param user of a PostgreSQL of the machine's, which is not copied: who can't run it */
function notRunnable(problem: string, user?: SystemUser): Unusable {
  return new Unusable(
    user === undefined
      ? `the embedded PostgreSQL does not run on this machine (${problem}): set DATABASE_URL to a PostgreSQL 15 or newer, or MIRROR_PG_BIN to the folder of one.`
      : `the PostgreSQL of MIRROR_PG_BIN does not run as user ${user.name} (${problem}), as whom it must, because ` +
          'research-mirror runs as root: let others read and run it, or run research-mirror as an ordinary user.',
  );
}
