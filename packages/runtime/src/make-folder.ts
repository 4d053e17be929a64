import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it, where they are missing. Node's own `recursive` never ends where a folder is there
 * but takes no others and says ENOENT (`/proc`): it makes the parent, and tries again, for ever.
 * @throws the file system's error about the folder that could not be made
 */
export async function makeFolder(path: string): Promise<void> {
  if (await made(path)) return;
  await makeFolder(dirname(path));
  await mkdir(path).catch(async (error: unknown) => {
    if (!(await isFolder(path))) throw error;
  });
}

/** False where the folder above it is missing. */
async function made(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (await isFolder(path)) return true;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(path) !== path) return false;
    throw error;
  }
}

/** Whatever else mkdir said: somebody made it meanwhile, or its file system is read-only. */
async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
