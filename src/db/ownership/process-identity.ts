import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';

/** Identifies a process among all that ever had its ID on the machine. */
export interface ProcessIdentity {
  /** Host name, for users. */
  readonly host: string;
  /** Boot and PID namespace: within both a process ID is unique at a time. '' where the system has none (macOS). */
  readonly machine: string;
  readonly pid: number;
  /** Start of the process in clock ticks since boot; '' where the system does not say. */
  readonly startedTicks: string;
}

/** This process. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  const host = hostname();
  try {
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    const namespace = await readlink('/proc/self/ns/pid');
    const stat = parseStat(await readFile('/proc/self/stat', 'utf8'));
    return { host, machine: `${boot} ${namespace}`, pid: process.pid, startedTicks: stat.startedTicks };
  } catch {
    return { host, machine: '', pid: process.pid, startedTicks: '' };
  }
}

/**
 * Whether this machine is certain that `other` has ended, so that nobody need wait for its heartbeat to expire. False
 * where nothing is certain.
 */
export async function isDeadHere(
  self: ProcessIdentity,
  other: Omit<ProcessIdentity, 'host'>,
): Promise<boolean> {
  if (self.machine === '' || self.machine !== other.machine) return false;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return true;
  }
  // The ID is in use: perhaps by a later process, or by one that has ended and that its parent has not reaped.
  const text = await readFile(`/proc/${other.pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return false;
  const stat = parseStat(text);
  return stat.startedTicks !== other.startedTicks || stat.state === 'Z' || stat.state === 'X';
}

/** Fields 3 and 22 of proc_pid_stat(5); field 2, the name in brackets, may contain anything. */
export function parseStat(text: string): { readonly state: string; readonly startedTicks: string } {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', startedTicks: fields[19] ?? '' };
}
