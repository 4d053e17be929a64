import { execFile } from 'node:child_process';
import { link, readFile, realpath, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A running server, as its `postmaster.pid` tells. */
export interface Postmaster {
  readonly pid: number;
  /** Undefined while it starts. */
  readonly port: number | undefined;
}

/** The server that runs on `cluster`; undefined when none does. */
export async function runningPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const found = await readPidFile(cluster);
  if (found === undefined || !isAlive(found.pid) || !(await isPostgresOn(found.pid, cluster)))
    return undefined;
  return { pid: found.pid, port: found.port };
}

/**
 * Takes away the file of a dead server whose process ID another program has by now; PostgreSQL would not start.
 * What any other dead server left, PostgreSQL replaces itself.
 */
export async function clearStalePidFile(cluster: string): Promise<void> {
  const found = await readPidFile(cluster);
  if (found === undefined || !isAlive(found.pid) || (await isPostgresOn(found.pid, cluster))) return;
  const aside = `${found.file}.stale-${process.pid}`;
  try {
    await rename(found.file, aside);
    // A server that started meanwhile gets its own back at once.
    if ((await readFile(aside, 'utf8')) !== found.text) await link(aside, found.file);
    await rm(aside);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error;
  }
}

interface PidFile {
  readonly file: string;
  readonly text: string;
  readonly pid: number;
  readonly port: number | undefined;
}

async function readPidFile(cluster: string): Promise<PidFile | undefined> {
  const file = join(cluster, 'postmaster.pid');
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  // Lines: process ID, data folder, start time, port, …; the file is written in steps.
  const lines = text.split('\n');
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { file, text, pid, port: Number.isInteger(port) && port > 0 ? port : undefined };
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
