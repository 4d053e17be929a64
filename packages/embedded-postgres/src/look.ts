import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { exists, MAJOR } from './binaries.ts';
import { runningPostmaster } from './postmaster.ts';

/** What there is of an embedded database, seen without touching it. */
export type EmbeddedState = 'absent' | 'stopped' | 'running';

/** Whether `dataDir` has an embedded database, and whether its server runs. Makes and starts nothing. @throws Unusable */
export async function lookForEmbedded(dataDir: string): Promise<EmbeddedState> {
  const folder = await readFile(join(dataDir, `pg${MAJOR}-location`), 'utf8').then(
    (text) => text.trim(),
    () => resolve(dataDir),
  );
  const cluster = join(folder, `pg${MAJOR}`);
  try {
    if (!(await exists(cluster))) return 'absent';
    return (await runningPostmaster(cluster)) === undefined ? 'stopped' : 'running';
  } catch (error) {
    throw new Unusable(
      `the embedded database in MIRROR_DATA_DIR (${dataDir}) can't be looked at: ${messageOf(error)}. ` +
        'Run research-mirror as the user who made it, or set DATABASE_URL.',
      { cause: error },
    );
  }
}
