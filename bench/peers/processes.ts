import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type pg from 'pg';
import type { Command } from './peer.ts';

/** Ticks a second in `/proc/<pid>/stat`, the same on every Linux that Node runs on. */
const TICKS = 100;
/** Between two looks at the memory of what runs, milliseconds. */
const LOOK_MS = 50;

/** What a command took, with all processes that it started. */
export interface Taken {
  readonly seconds: number;
  /** User and system. */
  readonly cpuSeconds: number;
  /** Most at a time: sums of resident sets each 50 ms, but at least the highest peak of a single process. */
  readonly peakBytes: number;
}

/**
 * Runs a command to its end. Nothing else that this process started may end meanwhile. Linux only.
 * @throws where it does not end with 0, with what it wrote
 */
export async function runMeasured(command: Command, cwd: string): Promise<Taken> {
  const before = endedChildrenSeconds();
  const begun = performance.now();
  const child = spawn(command.file, command.args, {
    cwd,
    // Nothing of the environment of whoever measures, but what finds programs.
    env: { PATH: process.env['PATH'], HOME: cwd, LANG: 'C.UTF-8', ...command.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let written = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      written = (written + text).slice(-8000);
    });
  }
  let peakBytes = 0;
  const look = (): void => {
    const tree = memoryOfTree(child.pid ?? 0);
    peakBytes = Math.max(peakBytes, tree.resident, tree.highest);
  };
  const looking = setInterval(look, LOOK_MS);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => clearInterval(looking));
  const seconds = (performance.now() - begun) / 1000;
  if (code !== 0)
    throw new Error(`${basename(command.args[0] ?? '')} ended with ${String(code)}\n${written}`);
  return { seconds, cpuSeconds: endedChildrenSeconds() - before, peakBytes };
}

/** Of the children that have ended, theirs included. */
function endedChildrenSeconds(): number {
  return statOf(process.pid)?.ended ?? 0;
}

/**
 * Processor seconds of a Postgres server so far: its postmaster and all its processes, ended ones too.
 * @returns NaN where it is not a server on this machine
 */
export async function serverSeconds(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number; here: boolean }>(
    `select pg_backend_pid() as pid,
       coalesce(inet_server_addr() <<= '127.0.0.0/8' or inet_server_addr() = '::1', true) as here`,
  );
  const [{ pid, here } = { pid: 0, here: false }] = rows;
  const backend = here ? statOf(pid) : undefined;
  if (backend?.name !== 'postgres') return Number.NaN;
  const postmaster = statOf(backend.parent);
  let seconds = (postmaster?.own ?? 0) + (postmaster?.ended ?? 0);
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : undefined;
    if (stat?.parent === backend.parent) seconds += stat.own;
  }
  return seconds;
}

interface Stat {
  readonly name: string;
  readonly parent: number;
  /** Seconds in user and system mode. */
  readonly own: number;
  /** The same of children that ended and were waited for, with theirs. */
  readonly ended: number;
}

/** Undefined: there is no such process (any more). */
function statOf(pid: number): Stat | undefined {
  const text = contentOf(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The name is in parentheses, and may contain some.
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ');
  const seconds = (first: number): number =>
    (Number(fields[first] ?? 0) + Number(fields[first + 1] ?? 0)) / TICKS;
  const name = text.slice(text.indexOf('(') + 1, end);
  return { name, parent: Number(fields[1]), own: seconds(11), ended: seconds(13) };
}

function memoryOfTree(pid: number): { resident: number; highest: number } {
  const status = contentOf(`/proc/${pid}/status`);
  const kilobytes = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status ?? '')?.[1] ?? 0);
  let [resident, highest] = [kilobytes('VmRSS') * 1024, kilobytes('VmHWM') * 1024];
  for (const thread of foldersOf(`/proc/${pid}/task`)) {
    const children = contentOf(`/proc/${pid}/task/${thread}/children`)?.trim() ?? '';
    for (const child of children === '' ? [] : children.split(' ')) {
      const below = memoryOfTree(Number(child));
      resident += below.resident;
      highest = Math.max(highest, below.highest);
    }
  }
  return { resident, highest };
}

function foldersOf(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
