import type { Clock } from '@research-mirror/runtime/clock';
import { startSandbox } from '../src/start-sandbox.ts';
import { readSandboxOptions } from '../src/switches/read-options.ts';
import type { SandboxOptions } from '../src/switches/sandbox-switches.ts';
import { SandboxControl } from './control-client.ts';

/** A running sandbox, as tests and benches use it. */
export interface TestSandbox {
  /** `{base_url}` of the service, and the first API key with its owner. */
  readonly url: string;
  readonly key: string;
  readonly userId: number;
  readonly controlUrl: string;
  readonly control: SandboxControl;
  readonly stop: () => Promise<void>;
}

export const TEST_KEY = 'sandbox-key';
export const TEST_USER = 1001;

/** Options for data that does not change by itself, except unfinished jobs. */
export const STILL = {
  newJobsPerMinute: 0,
  newBulkJobsPerMinute: 0,
  newListsPerMinute: 0,
  newListItemsPerMinute: 0,
  newWatchEntriesPerMinute: 0,
  scoreChangesPerMinute: 0,
  watchChangesPerMinute: 0,
} as const satisfies Partial<SandboxOptions>;

/** Starts a sandbox in this process, on free ports. */
export async function startTestSandbox(options: Partial<SandboxOptions> = {}, clock?: Clock): Promise<TestSandbox> {
  const sandbox = await startSandbox({ port: 0, controlPort: 0, ...options }, clock);
  return { ...keyAndOwner(options), ...sandbox, control: new SandboxControl(sandbox.controlUrl) };
}

/** Key and owner of a sandbox with these options. */
export function keyAndOwner(options: Partial<SandboxOptions>): { key: string; userId: number } {
  const [key = TEST_KEY, userId = TEST_USER] = options.keys?.split(',')[0]?.split('=') ?? [];
  return { key, userId: Number(userId) };
}

/** All switches, with these. */
export function optionsWith(given: Readonly<Record<string, unknown>> = {}): SandboxOptions {
  const reading = readSandboxOptions(given);
  if ('problems' in reading) throw new Error(reading.problems.join());
  return reading.options;
}
