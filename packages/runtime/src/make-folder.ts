import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents. Node's own `recursive` never ends where the parent exists but answers
 * ENOENT (`/proc`): it creates the parent and tries again, for ever.
 * @throws the file system's error about the folder that could not be created
 */
export async function makeFolder(path: string): Promise<void> {
  if (await made(path)) return;
  await makeFolder(dirname(path));
  await mkdir(path).catch(async (error: unknown) => {
    if (!(await isFolder(path))) throw error;
  });
}

/** False where the parent is missing. */
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

/** mkdir may fail for an existing folder with several errors, such as EEXIST and EROFS. */
async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
