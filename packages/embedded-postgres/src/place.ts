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

/** Where the embedded server's programs and data are, and as whom it runs. */
export interface Place {
  /** Folder with PostgreSQL's `bin`, `lib` and `share`. */
  readonly native: string;
  /** PostgreSQL's data folder; need not exist yet. */
  readonly cluster: string;
  /** Undefined: as this program's own user. */
  readonly user: SystemUser | undefined;
}

/** Home of databases whose `MIRROR_DATA_DIR` PostgreSQL's user can't enter. */
export const SYSTEM_FOLDER = '/var/lib/research-mirror';

/** Beginning of the names of folders that are temporary: ensureCluster removes what a killed program left. */
export const UNFINISHED = `pg${MAJOR}.new-`;

/** In `MIRROR_DATA_DIR`: one line, the folder in which the database is instead. */
const POINTER = 'pg18-location';

/**
 * Finds or makes a place that works, checked by trying it:
 * - as an ordinary user the database lies in `dataDir`; binaries are used where npm put them, or copied into
 *   `dataDir` when that folder is read-only and links are missing
 * - as root PostgreSQL runs as an existing unprivileged user. What that user can't reach (a checkout under a
 *   0700 home) goes elsewhere: binaries to `<systemFolder>/postgres-<version>`, data to
 *   `<systemFolder>/<hash of dataDir>`, to which `dataDir` keeps a pointer
 * @throws Unusable with the remedy
 */
export async function findPlace(
  dataDir: string,
  isRoot: boolean,
  systemFolder: string,
  given?: Binaries,
): Promise<Place> {
  const binaries = given ?? (await findBinaries());
  const linked = await makeLinks(binaries.root);
  const pointer = join(dataDir, POINTER);
  if (!isRoot) {
    if (await exists(pointer)) {
      throw new Unusable(
        `the embedded database of ${dataDir} was made by root and lies in ${(await readFile(pointer, 'utf8')).trim()}: ` +
          'run research-mirror as root again, or set MIRROR_DATA_DIR to another folder.',
      );
    }
    const cluster = join(dataDir, `pg${MAJOR}`);
    await checkOwn(cluster);
    const { root } = linked ? binaries : await copyBinaries(binaries, dataDir);
    const problem = await whyNotRunnable(root, undefined);
    if (problem !== undefined) throw notRunnable(problem);
    return { native: root, cluster, user: undefined };
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
  let native = binaries.root;
  if (!linked || (await whyNotRunnable(native, user)) !== undefined) {
    await makeFolder(systemFolder);
    await chmod(systemFolder, 0o755);
    native = (await copyBinaries(binaries, systemFolder)).root;
    const problem = await whyNotRunnable(native, user);
    if (problem !== undefined) throw notRunnable(problem);
  }
  return { native, cluster: join(folder, `pg${MAJOR}`), user };
}

/** True when `user` can work in a folder below `folder`. The proof is that it does. */
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

async function checkOwn(cluster: string): Promise<void> {
  const owner = await ownerOf(cluster);
  if (owner !== undefined && owner !== process.getuid?.()) {
    throw new Unusable(
      `the embedded database in ${cluster} belongs to user ID ${owner}: run research-mirror as that user ` +
        '(or as root, if root made it), or set MIRROR_DATA_DIR to another folder.',
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
