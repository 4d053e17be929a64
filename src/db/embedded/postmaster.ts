import { execFile } from 'node:child_process';
import { link, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A running server, as its `postmaster.pid` tells. */
export interface Postmaster {
  readonly pid: number;
  /** Undefined while it starts. */
  readonly port: number | undefined;
}

/**
 * The server that runs on `cluster`; undefined when none does. A file that a dead server left is no obstacle:
 * PostgreSQL replaces it, unless another program has that process ID by now; then it is taken away here.
 */
export async function runningPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const file = join(cluster, 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  // Lines: process ID, data folder, start time, port, …
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return undefined;
  if (!(await isPostgresOn(pid, cluster))) {
    await removeStale(file, text);
    return undefined;
  }
  const port = Number(lines[3]);
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

/** True when `pid` is a server started with `-D cluster`. */
async function isPostgresOn(pid: number, cluster: string): Promise<boolean> {
  const command =
    process.platform === 'linux'
      ? await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
      : (
          await promisify(execFile)('/bin/ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({
            stdout: '',
          }))
        ).stdout;
  return command.includes('postgres') && command.includes(cluster);
}

/** Takes away exactly the file that was judged; a server that started meanwhile gets its own back at once. */
async function removeStale(file: string, judged: string): Promise<void> {
  const aside = `${file}.stale-${process.pid}`;
  try {
    await rename(file, aside);
    if ((await readFile(aside, 'utf8')) !== judged) await link(aside, file);
    await rm(aside);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error;
  }
}
