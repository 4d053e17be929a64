import { spawn } from 'node:child_process';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '@research-mirror/runtime/message';
import type { Clock } from '@research-mirror/runtime/clock';
import { PROGRAM_ENVIRONMENT } from './binaries.ts';
import type { Location } from './location.ts';
import { isAlive } from './postmaster.ts';

/** A longer log is renamed to `<log>.1` at the next start. */
const MAX_LOG_BYTES = 4 * 1024 * 1024;
/** Of what a server that did not start has logged. */
const MAX_READ_BYTES = 64 * 1024;

export type ServerProcess = Awaited<ReturnType<typeof spawnServer>>;

/**
 * Starts the server in its own process group and session: a Ctrl-C for this program does not reach it. Its log goes to
 * a file: the server survives this program.
 * @returns `pid`: undefined if the system could not start it; `exit`: the exit code (null after a signal), and the
 * first 64 KB that it logged
 */
export async function spawnServer(
  location: Location,
  port: number,
  settings: Readonly<Record<string, string>>,
  logFile: string,
) {
  const { size } = await stat(logFile).catch(() => ({ size: 0 }));
  if (size > MAX_LOG_BYTES) await rename(logFile, `${logFile}.1`);
  const log = await open(logFile, 'a', 0o600);
  const begin = (await log.stat()).size;
  const all = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port: String(port), ...settings };
  const identity = location.user && { uid: location.user.uid, gid: location.user.gid };
  const child = spawn(
    join(location.bin, 'postgres'),
    ['-D', location.pgData, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { cwd: '/', env: PROGRAM_ENVIRONMENT, detached: true, stdio: ['ignore', log.fd, log.fd], ...identity },
  );
  child.unref();
  const exit = new Promise<{ readonly code: number | null; readonly log: string }>((resolve) => {
    const unreadable = (error: unknown): string => `FATAL: ${messageOf(error)}`;
    child.once('error', (error) => resolve({ code: null, log: unreadable(error) }));
    child.once('exit', (code) => {
      void readFile(logFile)
        .then((all) => all.toString('utf8', begin, begin + MAX_READ_BYTES), unreadable)
        .then((text) => resolve({ code, log: text }));
    });
  });
  await log.close();
  return { pid: child.pid, port, exit };
}

/** How long PostgreSQL's fast shutdown may take, and the immediate one that follows. */
const FAST_SHUTDOWN_MS = 5_000;
const IMMEDIATE_SHUTDOWN_MS = 3_000;

/**
 * Stops the server: SIGINT is PostgreSQL's fast shutdown (open transactions are rolled back, a checkpoint is written).
 * If that takes too long, SIGQUIT is its immediate shutdown (the next start recovers from the WAL).
 * @returns `clean` after the fast shutdown, `crashed` after the immediate one, `alive` if both failed
 */
export async function stopServer(pid: number, clock: Clock): Promise<'clean' | 'crashed' | 'alive'> {
  signal(pid, 'SIGINT');
  if (await endsWithin(pid, FAST_SHUTDOWN_MS, clock)) return 'clean';
  signal(pid, 'SIGQUIT');
  return (await endsWithin(pid, IMMEDIATE_SHUTDOWN_MS, clock)) ? 'crashed' : 'alive';
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
