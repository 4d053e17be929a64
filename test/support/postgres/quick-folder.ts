import { chmod, mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the databases of a run, or the copies of a few dozen clusters, may take, bytes. */
const ROOM = 4 * 1024 ** 3;

const MEMORY = '/dev/shm';

/** All that `quickFolder` may answer. */
export const QUICK_FOLDERS: readonly string[] = [MEMORY, tmpdir()];

/**
 * Where files are quick to make and to copy: in memory where there is room, else among the temporary files. A database
 * is some 800 files, and its copy takes a seventh of the time there.
 */
export async function quickFolder(): Promise<string> {
  const room = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return room > ROOM ? MEMORY : tmpdir();
}

/** A temporary folder that PostgreSQL's own user can enter, too, where tests run as root. */
export async function openFolder(name: string, parent: string = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(parent, `${name}-`));
  await chmod(folder, 0o755);
  return folder;
}
