import { access } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { ensureWritableFolder } from '@research-mirror/embedded-postgres/writable-folder';
import { isPortFree, nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { explainFailure } from '@research-mirror/embedded-postgres/start-failure';
import { messageOf } from '@research-mirror/runtime/message';
import { findBinaries } from '@research-mirror/embedded-postgres/binaries';
import type { DatabaseConfig } from '../../config/config.ts';
import { shellWord, type Mend, type Report } from './check.ts';
import { judgeVersion } from '../releases.ts';

type EmbeddedConfig = DatabaseConfig & { readonly kind: 'embedded' };

/**
 * Whether the embedded database's folder can be written, or made. A file appears in it for a moment.
 * @returns the folder, or the nearest above it that is there; undefined where it can't be used
 */
export async function checkDataFolder(dataDir: string, report: Report): Promise<string | undefined> {
  const present = await nearestPresent(dataDir);
  try {
    await ensureWritableFolder(present);
  } catch (error) {
    report('data_folder', 'broken', messageOf(error), mendOf(present, error));
    return undefined;
  }
  report('data_folder', 'ok', present === dataDir ? `${dataDir} can be written` : `${dataDir} can be made`);
  return present;
}

async function nearestPresent(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    const there = await access(at).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
    );
    if (there || dirname(at) === at) return at;
  }
}

function mendOf(folder: string, error: unknown): Mend {
  const { code } = (error as Error).cause as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM') {
    const { username } = userInfo();
    return {
      remedy: 'or let this user write it, as root',
      command: `chown -R ${shellWord(username)} ${shellWord(folder)} && chmod u+rwx ${shellWord(folder)}`,
    };
  }
  if (code === 'ENOSPC') return { remedy: 'make room on its disk', command: `df -h ${shellWord(folder)}` };
  return { command: 'export MIRROR_DATA_DIR="$HOME/research-mirror-data"' };
}

/** Whether the embedded server could start, of one that is not there yet, and of which version it would be. */
export async function checkFirstStart({ port, pgBin }: EmbeddedConfig, report: Report): Promise<void> {
  try {
    const { version } = await findBinaries(pgBin);
    report('server', ...judgeVersion('PostgreSQL', version.split('.', 2).join('.'), updateOf(pgBin)));
  } catch (error) {
    report('database', 'broken', messageOf(error));
    return;
  }
  if (port === 0 || (await isPortFree(port))) {
    report('database', 'ok', 'none yet: the first start makes it');
    return;
  }
  report(
    'database',
    'broken',
    `the embedded PostgreSQL could not start: ${explainFailure('Address already in use', port, '')}`,
    {
      command: `export MIRROR_PG_PORT=${await nonEphemeralPort()}`,
    },
  );
}

/** How to get a newer embedded server. */
export function updateOf(pgBin: string | undefined): string {
  return pgBin === undefined
    ? 'let MIRROR_PG_BIN name the folder of an up-to-date PostgreSQL of the same major version, or set DATABASE_URL to such a server'
    : 'update the PostgreSQL of MIRROR_PG_BIN';
}
