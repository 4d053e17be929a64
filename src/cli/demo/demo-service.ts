import { join } from 'node:path';
import { ensureWritableFolder } from '@research-mirror/embedded-postgres/writable-folder';
import { Unusable } from '@research-mirror/runtime/errors';
import { readOrCreate } from '@research-mirror/runtime/read-or-create';
import { isPortFree, nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { startSandbox, type Sandbox } from '@research-mirror/sandbox/start-sandbox';
import type { Shell } from '../terminal/shell.ts';
import { shortPath } from '../terminal/short-path.ts';

/** The demo's account: nobody's secret. */
export const DEMO_KEY = 'demo-key';
const USER = 1001;

/** Between two looks whether the other demo has ended, milliseconds. */
const LOOK_EVERY = 500;
/** What listens on the port and says nothing for so long is no demo, milliseconds. */
const PATIENCE = 10_000;

/**
 * Starts the demo's emulated service: the same one at each start, as to when its world began and where it is. Another
 * world would change every row of the mirror, and at another address it would be refused as another service. Both are
 * kept beside the database. While another demo runs, this one waits for its end.
 * @throws Unusable where something else has the port; the shell's signal's reason
 */
export async function startDemoService(
  folder: string,
  shell: Shell,
  say: (text: string) => void,
): Promise<Sandbox> {
  await ensureWritableFolder(folder);
  const epoch = await epochOf(folder, shell);
  const port = await portOf(folder);
  for (;;) {
    shell.signal.throwIfAborted();
    try {
      return await startSandbox({ port, controlPort: 0, keys: `${DEMO_KEY}=${USER}`, epoch }, shell.clock);
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
    if (await isDemo(port, shell.signal)) {
      say(`a demo runs here already (its service is on port ${port}): this one waits for its end`);
      while (!(await isPortFree(port))) await shell.clock.sleep(LOOK_EVERY, shell.signal);
    } else if (!(await isPortFree(port))) {
      throw new Unusable(
        `something else uses port ${port}, at which the demo's mirror knows its service (${fileOf(folder, PORT)}): ` +
          `stop what uses it, or begin anew by removing the folder ${shortPath(folder)}`,
      );
    }
  }
}

const EPOCH = 'epoch';
const PORT = 'service-port';

async function epochOf(folder: string, shell: Shell): Promise<string> {
  const epoch = await readOrCreate(join(folder, EPOCH), () => new Date(shell.clock.now()).toISOString());
  if (Number.isNaN(Date.parse(epoch))) throw unreadable(folder, EPOCH, 'time');
  return epoch;
}

async function portOf(folder: string): Promise<number> {
  const text = await readOrCreate(join(folder, PORT), async () => String(await nonEphemeralPort()));
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) throw unreadable(folder, PORT, 'port');
  return port;
}

function unreadable(folder: string, name: string, what: string): Unusable {
  return new Unusable(
    `${fileOf(folder, name)} holds no ${what}: put the one back that it held, or begin anew by removing the folder ${shortPath(folder)}`,
  );
}

function fileOf(folder: string, name: string): string {
  return shortPath(join(folder, name));
}

function isTaken(error: unknown): boolean {
  const { cause } = error as { cause?: NodeJS.ErrnoException };
  return cause?.code === 'EADDRINUSE';
}

/** Whether a demo's service answers there. It is asked once: each request counts in the rate limit of its account. */
async function isDemo(port: number, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/ping`, {
      headers: { authorization: `Bearer ${DEMO_KEY}` },
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]),
    });
    return ((await response.json()) as { user_id?: unknown } | null)?.user_id === USER;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
