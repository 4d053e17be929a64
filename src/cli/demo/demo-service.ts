import { join } from 'node:path';
import { ensureWritableFolder } from '@research-mirror/embedded-postgres/writable-folder';
import { Unusable } from '@research-mirror/runtime/errors';
import { readOrCreate } from '@research-mirror/runtime/read-or-create';
import { isPortFree } from '@research-mirror/embedded-postgres/ports';
import { startSandbox, type Sandbox } from '@research-mirror/sandbox/start-sandbox';
import { DEMO_KEY, keptPort, SERVICE_PORT, servicePort, unreadable } from '../steps/demo-folder.ts';
import type { Shell } from '../terminal/shell.ts';
import { shortPath } from '../terminal/short-path.ts';

/** Owner of the demo's key. */
export const DEMO_USER = 1001;

/** What listens on the port and says nothing for so long is no demo, milliseconds. */
const PATIENCE = 10_000;

/**
 * Starts the demo's emulated service: the same one at each start, as to when its world began and where it is. Another
 * world would change every row of the mirror, and at another address it would be refused as another service. Both are
 * kept beside the database.
 * @returns undefined where another demo of this folder runs
 * @throws Unusable where something else has the port
 */
export async function startDemoService(folder: string, shell: Shell): Promise<Sandbox | undefined> {
  await ensureWritableFolder(folder);
  const epoch = await epochOf(folder, shell);
  const port = await servicePort(folder);
  for (;;) {
    shell.signal.throwIfAborted();
    if (await isPortFree(port)) {
      // Looked for only now: while another demo runs, this port of it is taken, too.
      const controlPort = await keptPort(folder, 'control-port');
      try {
        return await startSandbox(
          { port, controlPort, keys: `${DEMO_KEY}=${DEMO_USER}`, epoch },
          shell.clock,
        );
      } catch (error) {
        if (!isTaken(error)) throw error;
      }
    } else if (await isDemo(port, shell.signal)) return undefined;
    else if (!(await isPortFree(port))) {
      throw new Unusable(
        `something else uses port ${port}, at which the demo's mirror knows its service (${shortPath(join(folder, SERVICE_PORT))}): ` +
          `stop what uses it, or begin anew by removing the folder ${shortPath(folder)}`,
      );
    }
  }
}

const EPOCH = 'epoch';

async function epochOf(folder: string, shell: Shell): Promise<string> {
  const epoch = await readOrCreate(join(folder, EPOCH), () => new Date(shell.clock.now()).toISOString());
  if (Number.isNaN(Date.parse(epoch))) throw unreadable(folder, EPOCH, 'time');
  return epoch;
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
    return ((await response.json()) as { user_id?: unknown } | null)?.user_id === DEMO_USER;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
