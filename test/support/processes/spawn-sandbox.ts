import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { SandboxControl } from '@research-mirror/sandbox/testing/control-client';
import { keyAndOwner, type TestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { builtProgram, NODE_COMPILE_CACHE } from './built-programs.ts';

/** Starts a sandbox in a process of its own, so that a bench does not share its event loop. */
export async function spawnTestSandbox(options: Partial<SandboxOptions> = {}): Promise<TestSandbox> {
  const script = await builtProgram('sandbox-process');
  const given = JSON.stringify({ port: 0, controlPort: 0, ...options });
  const env = { ...process.env, NODE_COMPILE_CACHE };
  const child = spawn(process.execPath, [script, given], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const first = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  if (first.done === true) throw new Error('the sandbox process ended before it listened');
  const urls = JSON.parse(first.value) as { url: string; controlUrl: string };
  return {
    ...keyAndOwner(options),
    ...urls,
    control: new SandboxControl(urls.controlUrl),
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
