import { mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import { makeFolder } from '@research-mirror/runtime/make-folder';
import { messageOf } from '@research-mirror/runtime/message';
import { exists } from './binaries.ts';
import { runningPostmaster } from './postmaster.ts';

/** Whether there is an embedded database, and whether its server runs. */
export type EmbeddedState = 'absent' | 'stopped' | 'running';

/** The state of `dataDir`'s embedded database. Creates and starts nothing. @throws Unusable if it can't be read */
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

/** The folder that holds the database: `dataDir`, or the one that root uses instead. */
export async function databaseFolder(dataDir: string): Promise<string> {
  const [pgData] = (await clustersIn(dataDir)).values();
  return pgData === undefined ? resolve(dataDir) : dirname(pgData);
}

/** File in `MIRROR_DATA_DIR` that names the folder where the database is instead. */
export const pointerName = (major: number): string => `pg${major}-location`;

/** PostgreSQL's data directories of `dataDir` by major version: one, or none yet. */
export async function clustersIn(dataDir: string): Promise<ReadonlyMap<number, string>> {
  const clusters = new Map<number, string>();
  const names = await readdir(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
  for (const name of names) {
    const major = Number(/^pg(\d+)(-location)?$/.exec(name)?.[1]);
    if (Number.isNaN(major)) continue;
    const pointer = await readFile(join(dataDir, pointerName(major)), 'utf8').catch(() => undefined);
    const pgData = join(pointer?.trim() ?? resolve(dataDir), `pg${major}`);
    if (await exists(pgData)) clusters.set(major, pgData);
  }
  return clusters;
}

/** Prefix of temporary folders: ensureDataDirectory removes those that a killed program left. */
export const UNFINISHED = 'pg.new-';

/** Creates the folder, and checks that this user can write in it. @returns its real path @throws Unusable */
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
