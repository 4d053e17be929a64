import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { exists } from './binaries.ts';
import { runningPostmaster } from './postmaster.ts';

/** Whether there is an embedded database, and whether its server runs. */
export type EmbeddedState = 'absent' | 'stopped' | 'running';

/** The state of the embedded database of `dataDir`. Creates and starts nothing. @throws Unusable where it can't be read */
export async function embeddedState(dataDir: string): Promise<EmbeddedState> {
  try {
    const clusters = [...(await clustersIn(dataDir)).values()];
    if (clusters.length === 0) return 'absent';
    const running = await Promise.all(clusters.map(runningPostmaster));
    return running.every((each) => each === undefined) ? 'stopped' : 'running';
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
  const [pgData] = (await clustersIn(dataDir)).values();
  return pgData === undefined ? resolve(dataDir) : dirname(pgData);
}

/** File in `MIRROR_DATA_DIR` that names the folder where the database is instead. */
export function pointerName(major: number): string {
  return `pg${major}-location`;
}

/** PostgreSQL's data directories that `dataDir` stands for, by their major version: one, or none yet. */
export async function clustersIn(dataDir: string): Promise<ReadonlyMap<number, string>> {
  const clusters = new Map<number, string>();
  const names = await readdir(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
  for (const name of names) {
    const major = Number(/^pg(\d+)(-location)?$/.exec(name)?.[1]);
    if (Number.isNaN(major)) continue;
    const folder = await readFile(join(dataDir, pointerName(major)), 'utf8').then(
      (text) => text.trim(),
      () => resolve(dataDir),
    );
    const pgData = join(folder, `pg${major}`);
    if (await exists(pgData)) clusters.set(major, pgData);
  }
  return clusters;
}
