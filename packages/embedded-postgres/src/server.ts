import { spawn } from 'node:child_process';
import { open, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '@research-mirror/runtime/message';
import type { Clock } from '@research-mirror/runtime/clock';
import { PROGRAM_ENVIRONMENT } from './binaries.ts';
import type { Place } from './place.ts';
import { isAlive } from './postmaster.ts';

/** A log longer than this (bytes) becomes `<log>.1` at the next start. */
const MAX_LOG = 4 * 1024 * 1024;

/** A server process that this program has started. */
export interface Spawned {
  /** Undefined when it could not be started at all. */
  readonly pid: number | undefined;
  readonly port: number;
  /** Resolves when the process has ended. */
  readonly ended: Promise<Ended>;
}

export interface Ended {
  /** Exit code; null after a signal. */
  readonly code: number | null;
  /** What it wrote to the log since its start (the first 64 KB). */
  readonly log: string;
}

/**
 * Starts the server in a process group (and session) of its own, so that a Ctrl-C meant for us does not reach it,
 * with its log in a file, so that it outlives us.
 */
export async function spawnServer(
  place: Place,
  port: number,
  settings: Readonly<Record<string, string>>,
  logFile: string,
): Promise<Spawned> {
  const size = await stat(logFile).then(
    (found) => found.size,
    () => 0,
  );
  if (size > MAX_LOG) await rename(logFile, `${logFile}.1`);
  const log = await open(logFile, 'a', 0o600);
  const begin = (await log.stat()).size;
  const all = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port: String(port), ...settings };
  const identity = place.user === undefined ? {} : { uid: place.user.uid, gid: place.user.gid };
  const child = spawn(
    join(place.native, 'bin', 'postgres'),
    ['-D', place.cluster, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { cwd: '/', env: PROGRAM_ENVIRONMENT, detached: true, stdio: ['ignore', log.fd, log.fd], ...identity },
  );
  child.unref();
  const ended = new Promise<Ended>((resolve) => {
    const unreadable = (error: unknown): string => `FATAL: ${messageOf(error)}`;
    child.once('error', (error) => resolve({ code: null, log: unreadable(error) }));
    child.once('exit', (code) => {
      void readFrom(logFile, begin)
        .catch(unreadable)
        .then((text) => resolve({ code, log: text }));
    });
  });
  await log.close();
  return { pid: child.pid, port, ended };
}

async function readFrom(file: string, begin: number): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const length = Math.min(64 * 1024, Math.max(0, (await handle.stat()).size - begin));
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, begin);
    return buffer.toString('utf8');
  } finally {
    await handle.close();
  }
}

/** How long a fast shutdown may take before the server is told to stop without a checkpoint, milliseconds. */
const FAST_STOP = 5_000;
/** And that. */
const IMMEDIATE_STOP = 3_000;

/**
 * Stops the server: SIGINT (fast: open transactions are rolled back, a checkpoint is written), after a bound SIGQUIT
 * (at once; the next start recovers from the WAL).
 * @returns how it ended
 */
export async function stopServer(pid: number, clock: Clock): Promise<'clean' | 'crashed' | 'alive'> {
  signal(pid, 'SIGINT');
  if (await endsWithin(pid, FAST_STOP, clock)) return 'clean';
  signal(pid, 'SIGQUIT');
  return (await endsWithin(pid, IMMEDIATE_STOP, clock)) ? 'crashed' : 'alive';
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function endsWithin(pid: number, bound: number, clock: Clock): Promise<boolean> {
  const until = clock.monotonic() + bound;
  while (isAlive(pid)) {
    if (clock.monotonic() >= until) return false;
    await clock.sleep(20);
  }
  return true;
}
