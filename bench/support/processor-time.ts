import { readdirSync, readFileSync } from 'node:fs';
import type pg from 'pg';

/** Ticks a second of `/proc/<pid>/stat`: 100 on every Linux that Node runs on. */
const TICKS = 100;

interface Stat {
  readonly name: string;
  readonly parent: number;
  /** Seconds in user and system mode. */
  readonly own: number;
  /** The same of children that ended and were waited for, with theirs. */
  readonly ended: number;
}

/** Seconds of processor time that a process has used so far. Linux only, as all of this. */
export function processSeconds(pid: number): number {
  return statOf(pid)?.own ?? 0;
}

/** The same of a process and of those below it that still run. */
export function treeSeconds(pid: number): number {
  return childrenOf(pid).reduce((sum, child) => sum + treeSeconds(child), processSeconds(pid));
}

/** The same of this process's children that have ended, theirs included. */
export function endedChildrenSeconds(): number {
  return statOf(process.pid)?.ended ?? 0;
}

/**
 * The same of a whole Postgres server: its postmaster and all its processes, ended ones too.
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

/** Processes that it has started, by any of its threads; none where it has ended. */
export function childrenOf(pid: number): readonly number[] {
  return foldersOf(`/proc/${pid}/task`).flatMap((thread) => {
    const children = contentOf(`/proc/${pid}/task/${thread}/children`)?.trim() ?? '';
    return children === '' ? [] : children.split(' ').map(Number);
  });
}

/** Undefined: there is no such process (any more). */
function statOf(pid: number): Stat | undefined {
  const text = contentOf(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The name is in parentheses, and may contain some.
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ');
  const seconds = (first: number): number => (Number(fields[first] ?? 0) + Number(fields[first + 1] ?? 0)) / TICKS;
  const name = text.slice(text.indexOf('(') + 1, end);
  return { name, parent: Number(fields[1]), own: seconds(11), ended: seconds(13) };
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
