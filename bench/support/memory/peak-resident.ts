import { readFileSync } from 'node:fs';

/** Resident memory, bytes. */
export interface ResidentMemory {
  readonly now: number;
  /** The most that it has had. */
  readonly most: number;
}

/** Undefined: there is no such process (any more), or this is not Linux. */
export function residentOf(pid: number | 'self'): ResidentMemory | undefined {
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return undefined;
  }
  const bytes = (field: string): number | undefined => {
    const kib = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  };
  const [now, most] = [bytes('VmRSS'), bytes('VmHWM')];
  // One that has ended and was not waited for has a status, and no memory.
  return now === undefined || most === undefined ? undefined : { now, most };
}

/**
 * The most resident memory (bytes) that this program has had. Where the kernel tells only getrusage's figure, that of
 * whoever started it may be in it: what forks is counted, too.
 */
export function peakResident(): number {
  return residentOf('self')?.most ?? process.resourceUsage().maxRSS * 1024;
}
