import { createHash } from 'node:crypto';
import { chmod, chown, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import { makeFolder } from '@research-mirror/runtime/make-folder';
import {
  copyBinaries,
  exists,
  findBinaries,
  makeLinks,
  MAJOR,
  run,
  whyNotRunnable,
  type Binaries,
} from './binaries.ts';
import { unprivilegedUser, type SystemUser } from './system-user.ts';

/** Where the embedded server's programs and data are, and as which user it runs. */
export interface Location {
  /** Folder with PostgreSQL's `bin`, `lib` and `share`. */
  readonly programs: string;
  /** PostgreSQL's data directory (PGDATA); it need not exist yet. */
  readonly pgData: string;
  /** Undefined: this program's own user. */
  readonly user: SystemUser | undefined;
}

/** Holds the databases whose `MIRROR_DATA_DIR` PostgreSQL's user can't enter. */
export const SYSTEM_FOLDER = '/var/lib/research-mirror';

/** Prefix of temporary folders: ensureDataDirectory removes those that a killed program left. */
export const UNFINISHED = `pg${MAJOR}.new-`;

/** File in `MIRROR_DATA_DIR` that names the folder where the database is instead. */
const POINTER = `pg${MAJOR}-location`;

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
  const linked = await makeLinks(binaries.root);
  const pointer = join(dataDir, POINTER);
  if (!isRoot) {
    if (await exists(pointer)) {
      throw new Unusable(
        `the embedded database of ${dataDir} was created by root and is in ${(await readFile(pointer, 'utf8')).trim()}: ` +
          'run research-mirror as root again, or set MIRROR_DATA_DIR to another folder.',
      );
    }
    const pgData = join(dataDir, `pg${MAJOR}`);
    await checkOwner(pgData);
    const { root } = linked ? binaries : await copyBinaries(binaries, dataDir);
    const problem = await whyNotRunnable(root, undefined);
    if (problem !== undefined) throw notRunnable(problem);
    return { programs: root, pgData, user: undefined };
  }

  const own = join(systemFolder, createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 16));
  let folder = (await exists(pointer)) ? (await readFile(pointer, 'utf8')).trim() : dataDir;
  const user = await unprivilegedUser(await ownerOf(join(folder, `pg${MAJOR}`)));
  if (!(await canUse(folder, user))) {
    if (await exists(join(folder, `pg${MAJOR}`))) {
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
  let programs = binaries.root;
  if (!linked || (await whyNotRunnable(programs, user)) !== undefined) {
    await makeFolder(systemFolder);
    await chmod(systemFolder, 0o755);
    programs = (await copyBinaries(binaries, systemFolder)).root;
    const problem = await whyNotRunnable(programs, user);
    if (problem !== undefined) throw notRunnable(problem);
  }
  return { programs, pgData: join(folder, `pg${MAJOR}`), user };
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

function notRunnable(problem: string): Unusable {
  return new Unusable(
    `the embedded PostgreSQL does not run on this machine (${problem}): set DATABASE_URL to a PostgreSQL 15 or newer.`,
  );
}
