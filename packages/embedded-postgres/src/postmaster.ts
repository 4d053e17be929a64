import { execFile } from 'node:child_process';
import { link, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '@research-mirror/runtime/clock';

/** A running server, as its `postmaster.pid` tells. */
export interface Postmaster {
  readonly pid: number;
  /** Undefined while it starts. */
  readonly port: number | undefined;
}

/** The server that runs on `cluster`; undefined when none does. */
export async function runningPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const found = parsePidFile(await textOf(pidFile(cluster)));
  if (found === undefined || !isAlive(found.pid) || !(await isPostgresOn(found.pid, cluster)))
    return undefined;
  return found;
}

/** A server writes its process ID into the file at once: an empty one as old as this (ms) was left by a crash. */
const EMPTY_FOR = 5_000;

/**
 * Takes away a file because of which PostgreSQL would not start: a dead server's whose process ID another program
 * has by now, and one that a crash left empty. What any other dead server left, PostgreSQL replaces itself.
 */
export async function clearStalePidFile(cluster: string, clock: Clock): Promise<void> {
  const file = pidFile(cluster);
  const text = await textOf(file);
  if (text === undefined) return;
  const found = parsePidFile(text);
  if (found === undefined) {
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Infinity }));
    if (clock.now() - mtimeMs < EMPTY_FOR) return;
  } else if (!isAlive(found.pid) || (await isPostgresOn(found.pid, cluster))) return;
  const aside = `${file}.stale-${process.pid}`;
  try {
    await rename(file, aside);
    // A server that started meanwhile gets its own back at once.
    if ((await readFile(aside, 'utf8')) !== text) await link(aside, file);
    await rm(aside);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error;
  }
}

function pidFile(cluster: string): string {
  return join(cluster, 'postmaster.pid');
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Lines: process ID, data folder, start time, port, …; the server writes them in steps. */
function parsePidFile(text: string | undefined): Postmaster | undefined {
  const lines = (text ?? '').split('\n');
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number.isInteger(port) && port > 0 ? port : undefined };
}

/** True while a process has this ID (also a stranger's, which we may not signal). */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** True when `pid` is a server started with `-D cluster`, and where that can't be found out. */
async function isPostgresOn(pid: number, cluster: string): Promise<boolean> {
  const command =
    process.platform === 'linux'
      ? await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
      : (
          await promisify(execFile)('/bin/ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({
            stdout: '',
          }))
        ).stdout;
  return command === '' || (command.includes('postgres') && command.includes(await realpath(cluster)));
}
