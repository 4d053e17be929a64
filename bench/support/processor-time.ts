import { readdirSync, readFileSync } from 'node:fs';
import type pg from 'pg';

/** Ticks a second of `/proc/<pid>/stat`: 100 on every Linux that Node runs on. */
const TICKS = 100;

interface Stat {
  readonly parent: number;
  /** Seconds in user and system mode. */
  readonly own: number;
  /** The same of children that have ended. */
  readonly ended: number;
}

/** Seconds of processor time that a process has used so far. Linux only. */
export function processSeconds(pid: number): number {
  return statOf(pid)?.own ?? 0;
}

/** The same of a whole Postgres server on this machine: its postmaster, and all its processes, ended ones too. */
export async function serverSeconds(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const postmaster = statOf(rows[0]?.pid ?? 0)?.parent ?? 0;
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const children = pids.map((pid) => statOf(Number(pid))).filter((stat) => stat?.parent === postmaster);
  const server = statOf(postmaster);
  return children.reduce((sum, stat) => sum + (stat?.own ?? 0), (server?.own ?? 0) + (server?.ended ?? 0));
}

/** Undefined: there is no such process (any more). */
function statOf(pid: number): Stat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The name, in parentheses, may contain anything.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [, parent = 0, , , , , , , , , , user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields;
  return { parent, own: (user + system) / TICKS, ended: (endedUser + endedSystem) / TICKS };
}
