import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SyncReport } from '../../src/account/pass.ts';
import { ARENAS, OLD_HEAP, YOUNG_HEAP } from '../../bin/heap.js';
import { type ProgramOptions, startProgram } from '../../test/support/processes/program.ts';
import type { TestSandbox } from '@research-mirror/sandbox/testing/sandbox';

/** How the program is run against a sandbox. */
export interface Setting {
  readonly sandbox: TestSandbox;
  readonly folder: string;
  /** Further variables; the database is among them. */
  readonly env: Readonly<Record<string, string>>;
}

export interface SyncRun {
  readonly report: SyncReport;
  /** Of the whole process, its start included. */
  readonly seconds: number;
  /** Processor time of the process, user and system. */
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  readonly pages: number;
  readonly items: number;
}

/** What the launcher gives Node. A flag of the same name behind them is the one that counts. */
export const AS_LAUNCHED = [YOUNG_HEAP, OLD_HEAP] as const;

export const PRELOAD = new URL('./peak-memory.ts', import.meta.url).href;

export function programOptions({ sandbox, folder, env }: Setting): ProgramOptions {
  return {
    cwd: folder,
    nodeArguments: AS_LAUNCHED,
    env: {
      ...ARENAS,
      MIRROR_API_URL: sandbox.url,
      MIRROR_API_KEY: sandbox.key,
      MIRROR_BUDGET_SHARE: '1',
      ...env,
    },
  };
}

/**
 * Runs it to its end.
 * @param nodeArguments for Node itself, besides the launcher's: a profile, for example
 * @throws where it does not end with 0
 */
export async function runSync(setting: Setting, nodeArguments: readonly string[] = []): Promise<SyncRun> {
  const peakFile = join(setting.folder, 'peak');
  await rm(peakFile, { force: true });
  const options = programOptions(setting);
  const begin = performance.now();
  const { ended } = startProgram(['sync', '--full', '--json'], {
    ...options,
    env: { ...options.env, BENCH_PEAK_FILE: peakFile },
    nodeArguments: [...AS_LAUNCHED, '--import', PRELOAD, ...nodeArguments],
  });
  const { code, stdout, stderr } = await ended;
  const seconds = (performance.now() - begin) / 1000;
  if (code !== 0) throw new Error(`sync ended with ${String(code)}:\n${stdout}${stderr}`);
  const report = JSON.parse(stdout) as SyncReport;
  const sum = (figure: 'pages' | 'items'): number =>
    report.collections.reduce((total, each) => total + each[figure], 0);
  const peakBytes = Number(await readFile(peakFile, 'utf8'));
  const cpuSeconds = Number(await readFile(`${peakFile}-seconds`, 'utf8'));
  return { report, seconds, cpuSeconds, peakBytes, pages: sum('pages'), items: sum('items') };
}
