import { randomBytes } from 'node:crypto';
import { appendFile, chown, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import { readOrCreate } from '@research-mirror/runtime/read-or-create';
import { messageOf } from '@research-mirror/runtime/message';
import { exists, run } from './binaries.ts';
import { UNFINISHED } from './embedded-state.ts';
import type { Location } from './location.ts';

/** Superuser of the embedded server. */
export const SUPERUSER = 'postgres';

/**
 * Written into postgresql.conf when the data directory is created; users may change them there. For a small host.
 * Durability is PostgreSQL's default (fsync on).
 */
const SETTINGS: Record<string, string> = {
  max_connections: '60',
  shared_buffers: '128MB',
  // No replicas and no archive: less WAL for bulk loads.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '512MB',
  min_wal_size: '64MB',
  // A page's first change after a checkpoint writes all of it: rarer, and compressed.
  checkpoint_timeout: '30min',
  wal_compression: 'on',
  // Compiling the plans of short statements costs more than it saves.
  jit: 'off',
  log_checkpoints: 'off',
};

/** The server's password, created once. @throws Unusable if its file is missing */
export async function ensurePassword(file: string, pgData: string): Promise<string> {
  if (!(await exists(file)) && (await exists(pgData))) {
    throw new Unusable(
      `the password file ${file} of the embedded database in ${pgData} is missing. Put it back, or move the database away to start with an empty one.`,
    );
  }
  return secretFile(file);
}

/** A random secret in a file that only its owner can read; created if it is missing. */
export function secretFile(file: string): Promise<string> {
  return readOrCreate(file, () => randomBytes(24).toString('hex'), 0o600);
}

/**
 * Runs initdb if there is no data directory: in a temporary folder beside it, which is then renamed. So an interrupted
 * initdb leaves nothing behind, and of two programs one wins.
 * @throws Unusable for the data directory of another major version, and with initdb's error; the signal's reason
 */
export async function ensureDataDirectory(
  location: Location,
  password: string,
  durable: boolean,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<void> {
  const folder = dirname(location.pgData);
  await removeAbandoned(folder, clock);
  if (await exists(location.pgData)) return checkVersion(location);
  const unfinished = await mkdtemp(join(folder, UNFINISHED));
  const passwordFile = join(unfinished, 'password');
  const data = join(unfinished, 'data');
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
    if (location.user !== undefined) {
      await chown(unfinished, location.user.uid, location.user.gid);
      await chown(passwordFile, location.user.uid, location.user.gid);
    }
    const options = [
      `--pgdata=${data}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      ...localeOf(location.major),
      ...(durable ? [] : ['--no-sync']),
    ];
    await run(join(location.bin, 'initdb'), options, location.user, signal);
    // initdb takes them as options since PostgreSQL 16 only.
    const settings = Object.entries(SETTINGS).map(([name, value]) => `${name} = ${value}\n`);
    await appendFile(join(data, 'postgresql.conf'), settings.join(''));
    await rename(data, location.pgData);
  } catch (error) {
    signal?.throwIfAborted();
    if (await exists(location.pgData)) return;
    throw new Unusable(`the embedded database could not be created in ${folder}: ${lastError(messageOf(error))}`, {
      cause: error,
    });
  } finally {
    // The server that an interrupted initdb had started may still write for a moment.
    await rm(unfinished, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Sorts by code points, alike on every machine. */
function localeOf(major: number): readonly string[] {
  if (major >= 17) return ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  // The C library says what is a letter. macOS calls it so.
  return ['--lc-collate=C', `--lc-ctype=${process.platform === 'darwin' ? 'UTF-8' : 'C.UTF-8'}`];
}

/** Much longer than any initdb takes. */
const ABANDONED_AFTER_MS = 3_600_000;

/** Removes what killed programs left: folders of running ones are younger. */
async function removeAbandoned(folder: string, clock: Clock): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!/^pg\d*\.new-/.test(name)) continue;
    const path = join(folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
    if (clock.now() - mtimeMs > ABANDONED_AFTER_MS) await rm(path, { recursive: true, force: true });
  }
}

async function checkVersion({ pgData, major }: Location): Promise<void> {
  const version = (await readFile(join(pgData, 'PG_VERSION'), 'utf8').catch(() => '')).trim();
  if (version !== String(major)) {
    throw new Unusable(
      version === ''
        ? `${pgData} is not a PostgreSQL database. Move it away to start with an empty one.`
        : `the database in ${pgData} was made by PostgreSQL ${version}, but ${major} is embedded. Move it away to start with an empty one.`,
    );
  }
}

/** The lines of initdb's output that say what failed: `initdb: error: …`, and its detail and hint. */
function lastError(output: string): string {
  const lines = output.split('\n').filter((line) => /error|FATAL|detail|hint/i.test(line));
  return (lines.length === 0 ? output.split('\n').slice(-1) : lines)
    .map((line) => line.replace(/^initdb: (error: )?/, ''))
    .join('; ');
}
