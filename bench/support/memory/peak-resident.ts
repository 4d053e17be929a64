import { readFileSync } from 'node:fs';

/**
 * The most resident memory (bytes) that this program has had. Where the kernel tells only getrusage's figure, that of
 * whoever started it may be in it: what forks is counted, too.
 */
export function peakResident(): number {
  try {
    const kib = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    if (kib !== undefined) return Number(kib) * 1024;
  } catch {
    // No Linux.
  }
  return process.resourceUsage().maxRSS * 1024;
}
