import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { exists, MAJOR } from './binaries.ts';
import { runningPostmaster } from './postmaster.ts';

/** Whether there is an embedded database, and whether its server runs. */
export type EmbeddedState = 'absent' | 'stopped' | 'running';

/** The state of the embedded database of `dataDir`. Creates and starts nothing. @throws Unusable where it can't be read */
export async function embeddedState(dataDir: string): Promise<EmbeddedState> {
  const folder = await databaseFolder(dataDir);
  const pgData = join(folder, `pg${MAJOR}`);
  try {
    if (!(await exists(pgData))) return 'absent';
    return (await runningPostmaster(pgData)) === undefined ? 'stopped' : 'running';
  } catch (error) {
    throw new Unusable(
      `the embedded database in MIRROR_DATA_DIR (${dataDir}) can't be read: ${messageOf(error)}. ` +
        'Run research-mirror as the user who created it, or set DATABASE_URL.',
      { cause: error },
    );
  }
}

/** The folder that holds the database: `dataDir`, or the one that root has put in its place. */
export async function databaseFolder(dataDir: string): Promise<string> {
  return readFile(join(dataDir, `pg${MAJOR}-location`), 'utf8').then(
    (text) => text.trim(),
    () => resolve(dataDir),
  );
}
