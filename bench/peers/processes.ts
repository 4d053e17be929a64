import { spawn } from 'node:child_process';
import { basename } from 'node:path';
import { residentOf } from '../support/memory/peak-resident.ts';
import { childrenOf, endedChildrenSeconds } from '../support/processor-time.ts';
import type { Command } from './peer.ts';

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
  if (code !== 0) throw new Error(`${basename(command.args[0] ?? '')} ended with ${String(code)}\n${written}`);
  return { seconds, cpuSeconds: endedChildrenSeconds() - before, peakBytes };
}

function memoryOfTree(pid: number): { resident: number; highest: number } {
  const own = residentOf(pid);
  const below = childrenOf(pid).map(memoryOfTree);
  return {
    resident: below.reduce((sum, each) => sum + each.resident, own?.now ?? 0),
    highest: Math.max(own?.most ?? 0, ...below.map(({ highest }) => highest)),
  };
}
