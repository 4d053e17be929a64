import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Node's own `recursive` never ends if the parent exists but answers ENOENT (`/proc`). @throws the system's error */
export async function makeFolder(path: string): Promise<void> {
  // For an existing folder mkdir may fail with several errors, such as EEXIST and EROFS.
  const make = (): Promise<void> =>
    mkdir(path).catch(async (error: unknown) => {
      const found = await stat(path).catch(() => undefined);
      if (found?.isDirectory() !== true) throw error;
    });
  try {
    await make();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await make();
  }
}
