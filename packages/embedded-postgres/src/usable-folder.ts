import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import { makeFolder } from '@research-mirror/runtime/make-folder';
import { messageOf } from '@research-mirror/runtime/message';
import { UNFINISHED } from './place.ts';

/**
 * Makes the folder, and proves that it can be written.
 * @returns its one name, however it was reached: running servers are known by it
 * @throws Unusable
 */
export async function usableFolder(given: string): Promise<string> {
  try {
    await makeFolder(given);
    const folder = await realpath(given);
    // Another program that begins at the same time may clear it away as a killed one's.
    await rm(await mkdtemp(join(folder, UNFINISHED)), { recursive: true, force: true });
    return folder;
  } catch (error) {
    throw new Unusable(
      `MIRROR_DATA_DIR (${given}) can't hold the embedded database: ${messageOf(error)}. ` +
        'Name a folder that this user can write, or set DATABASE_URL.',
    );
  }
}
