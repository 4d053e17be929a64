import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import { makeFolder } from '@research-mirror/runtime/make-folder';
import { messageOf } from '@research-mirror/runtime/message';
import { UNFINISHED } from './location.ts';

/**
 * Creates the folder, and checks that this user can write in it.
 * @returns its real path: running servers are found by that
 * @throws Unusable
 */
export async function ensureWritableFolder(given: string): Promise<string> {
  try {
    await makeFolder(given);
    const folder = await realpath(given);
    // Another program that starts at the same time may remove it, as if a killed program had left it.
    await rm(await mkdtemp(join(folder, UNFINISHED)), { recursive: true, force: true });
    return folder;
  } catch (error) {
    throw new Unusable(
      `MIRROR_DATA_DIR (${given}) can't hold the embedded database: ${messageOf(error)}. ` +
        'Name a folder that this user can write, or set DATABASE_URL.',
      { cause: error },
    );
  }
}
