import { execFile } from 'node:child_process';
import { link, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '@research-mirror/runtime/clock';
import { textOf } from '@research-mirror/runtime/read-or-create';

/** The server that runs on `pgData`, without a port while it starts; undefined: none. */
export async function runningPostmaster(pgData: string) {
  const found = parsePidFile(await textOf(pidFile(pgData)));
  return found && isAlive(found.pid) && (await isPostgresOn(found.pid, pgData)) ? found : undefined;
}

/** The port of the last server on `pgData`; undefined: there was none. */
export async function lastPort(pgData: string): Promise<number | undefined> {
  const port = /"port=(\d+)"/.exec((await textOf(join(pgData, 'postmaster.opts'))) ?? '')?.[1];
  return port === undefined ? undefined : Number(port);
}

/** A server writes its process ID at once: an empty file of this age was left by a crash. */
const EMPTY_AFTER_CRASH_MS = 5_000;

/**
 * Removes a `postmaster.pid` with which PostgreSQL would not start: its process ID now belongs to another program, or a
 * crash left it empty. PostgreSQL itself replaces any other file that a dead server left.
 */
export async function clearStalePidFile(pgData: string, clock: Clock): Promise<void> {
  const file = pidFile(pgData);
  const text = await textOf(file);
  if (text === undefined) return;
  const found = parsePidFile(text);
  if (found === undefined) {
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Infinity }));
    if (clock.now() - mtimeMs < EMPTY_AFTER_CRASH_MS) return;
  } else if (!isAlive(found.pid) || (await isPostgresOn(found.pid, pgData))) return;
  const aside = `${file}.stale-${process.pid}`;
  try {
    await rename(file, aside);
    // A server that started meanwhile gets its own file back at once.
    if ((await readFile(aside, 'utf8')) !== text) await link(aside, file);
    await rm(aside);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error;
  }
}

function pidFile(pgData: string): string {
  return join(pgData, 'postmaster.pid');
}

/** Lines: process ID, data directory, start time, port, …; the server writes them one after another. */
function parsePidFile(text: string | undefined) {
  const lines = (text ?? '').split('\n');
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number.isInteger(port) && port > 0 ? port : undefined };
}

/** Whether a process has this ID, of any user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether `pid` is a server started with `-D pgData`; true if its command line can't be read. */
async function isPostgresOn(pid: number, pgData: string): Promise<boolean> {
  const asked =
    process.platform === 'linux'
      ? readFile(`/proc/${pid}/cmdline`, 'utf8')
      : promisify(execFile)('/bin/ps', ['-o', 'command=', '-p', String(pid)]).then(({ stdout }) => stdout);
  const command = await asked.catch(() => '');
  return command === '' || (command.includes('postgres') && command.includes(await realpath(pgData)));
}
