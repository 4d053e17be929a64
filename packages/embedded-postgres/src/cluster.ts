import { randomBytes } from 'node:crypto';
import { chown, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import { keptText } from '@research-mirror/runtime/kept-text';
import { messageOf } from '@research-mirror/runtime/message';
import { exists, MAJOR, run } from './binaries.ts';
import { UNFINISHED, type Place } from './place.ts';

/** Superuser of the embedded server, and the database that holds the mirror. */
export const SUPERUSER = 'postgres';
export const DATABASE = 'postgres';

/**
 * Written into postgresql.conf when the database is made, where users may change it: a small server on a
 * developer's machine or a small host. Durability stays as PostgreSQL has it (fsync on).
 */
const SETTINGS: Record<string, string> = {
  max_connections: '60',
  shared_buffers: '128MB',
  // No replicas and no archive: less WAL for bulk loads.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '512MB',
  min_wal_size: '64MB',
  // Plans of short statements cost more to compile than they win.
  jit: 'off',
  log_checkpoints: 'off',
};

/** The server's password, made once. @throws Unusable where its file is gone */
export async function ensurePassword(file: string, cluster: string): Promise<string> {
  if (!(await exists(file)) && (await exists(cluster))) {
    throw new Unusable(
      `the password file ${file} of the embedded database in ${cluster} is missing: put it back, or move the database away to begin anew.`,
    );
  }
  return secretFile(file);
}

/** A random secret in a file that only its owner reads, made where there is none. */
export function secretFile(file: string): Promise<string> {
  return keptText(file, () => randomBytes(24).toString('hex'), 0o600);
}

/**
 * Makes the database where there is none: in a folder beside it, which then takes the name in one step, so that
 * an interrupted initdb leaves nothing half-made and of two programs one wins.
 * @throws Unusable for a database of another PostgreSQL, and with initdb's own words when it fails; the signal's reason
 */
export async function ensureCluster(
  place: Place,
  password: string,
  durable: boolean,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<void> {
  const folder = dirname(place.cluster);
  await removeAbandoned(folder, clock);
  if (await exists(place.cluster)) return checkVersion(place.cluster);
  const unfinished = await mkdtemp(join(folder, UNFINISHED));
  const passwordFile = join(unfinished, 'password');
  const data = join(unfinished, 'data');
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
    if (place.user !== undefined) {
      await chown(unfinished, place.user.uid, place.user.gid);
      await chown(passwordFile, place.user.uid, place.user.gid);
    }
    const options = [
      `--pgdata=${data}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      // The built-in provider sorts alike everywhere and needs no locale of the machine.
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      ...Object.entries(SETTINGS).map(([name, value]) => `--set=${name}=${value}`),
      ...(durable ? [] : ['--no-sync']),
    ];
    await run(join(place.native, 'bin', 'initdb'), options, place.user, signal);
    await rename(data, place.cluster);
  } catch (error) {
    signal?.throwIfAborted();
    if (await exists(place.cluster)) return;
    throw new Unusable(
      `the embedded database could not be made in ${folder}: ${lastError(messageOf(error))}`,
      {
        cause: error,
      },
    );
  } finally {
    // The server that an interrupted initdb had started may still write for a moment.
    await rm(unfinished, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Longer than anybody takes to make a database, milliseconds. */
const ABANDONED = 3_600_000;

/** What a killed program left behind; those of living ones are younger. */
async function removeAbandoned(folder: string, clock: Clock): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(UNFINISHED)) continue;
    const path = join(folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
    if (clock.now() - mtimeMs > ABANDONED) await rm(path, { recursive: true, force: true });
  }
}

async function checkVersion(cluster: string): Promise<void> {
  const version = (await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch(() => '')).trim();
  if (version !== MAJOR) {
    throw new Unusable(
      version === ''
        ? `${cluster} is not a PostgreSQL database: move it away to begin anew.`
        : `the database in ${cluster} was made by PostgreSQL ${version}, but ${MAJOR} is embedded: move it away to begin anew.`,
    );
  }
}

/** initdb's `initdb: error: …`, and its detail where it gives one. */
function lastError(output: string): string {
  const lines = output.split('\n').filter((line) => /error|FATAL|detail|hint/i.test(line));
  return (lines.length === 0 ? output.split('\n').slice(-1) : lines)
    .map((line) => line.replace(/^initdb: (error: )?/, ''))
    .join('; ');
}
