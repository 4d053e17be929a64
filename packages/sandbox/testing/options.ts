import { readSandboxOptions } from '../src/switches/read-options.ts';
import type { SandboxOptions } from '../src/switches/sandbox-switches.ts';

/** All switches, with these. */
export function optionsWith(given: Readonly<Record<string, unknown>> = {}): SandboxOptions {
  const reading = readSandboxOptions(given);
  if ('problems' in reading) throw new Error(reading.problems.join());
  return reading.options;
}
