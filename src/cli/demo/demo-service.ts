import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureWritableFolder } from '@research-mirror/embedded-postgres/writable-folder';
import { Unusable } from '@research-mirror/runtime/errors';
import { readOrCreate } from '@research-mirror/runtime/read-or-create';
import { isPortFree } from '@research-mirror/embedded-postgres/ports';
import { startSandbox, type Sandbox } from '@research-mirror/sandbox/start-sandbox';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { DEMO_KEY, keptPort, portOf, SERVICE_PORT, unreadable } from '../steps/demo-folder.ts';
import { shortPath, type Shell } from '../terminal/shell.ts';

/** Owner of the demo's key. */
export const DEMO_USER = 1001;

/** A service that has been used for two weeks, by people who research companies that are on their lists. */
const WORLD: Partial<SandboxOptions> = {
  ageDays: 14,
  overlap: 0.5,
  jobCredits: 1,
  newJobsPerMinute: 3,
  newBulkJobsPerMinute: 0.05,
  newListsPerMinute: 0.02,
  newListItemsPerMinute: 3,
  newWatchEntriesPerMinute: 0.1,
  scoreChangesPerMinute: 3,
  failedShare: 0.08,
  retriedShare: 0.25,
  stuckShare: 0.005,
};

/** What listens on the port and says nothing for so long is no demo, milliseconds. */
const PATIENCE = 10_000;

/**
 * Starts the demo's emulated service: the same one at each start, as to its world, what was asked of it, and where it
 * is. Another world would change every row of the mirror, one without our webhook looks as if another program had
 * removed it, and at another address it would be refused as another service. All is kept beside the database.
 * @returns undefined where another demo of this folder runs
 * @throws Unusable where something else has the port
 */
export async function startDemoService(folder: string, shell: Shell): Promise<Sandbox | undefined> {
  await ensureWritableFolder(folder);
  if (existsSync(join(folder, 'epoch'))) {
    throw new Unusable(`${shortPath(folder)} is of research-mirror 0.1: begin anew by removing it`);
  }
  const world = await worldOf(folder, shell);
  const port = await portOf(folder, SERVICE_PORT);
  if (!(await isPortFree(port))) {
    if (await isDemo(port, shell.signal)) return undefined;
    throw new Unusable(
      `something else uses port ${port}, at which the demo's mirror knows its service (${shortPath(join(folder, SERVICE_PORT))}): ` +
        `stop what uses it, or begin anew by removing the folder ${shortPath(folder)}`,
    );
  }
  // Looked for only now: while another demo runs, this port of it is taken, too.
  const controlPort = await keptPort(folder, 'control-port');
  const keys = `${DEMO_KEY}=${DEMO_USER}`;
  const memory = join(folder, 'service-memory');
  return startSandbox({ ...world, port, controlPort, keys, memory }, shell.clock);
}

const WORLD_FILE = 'world.json';

/** As the first start made it. */
async function worldOf(folder: string, shell: Shell): Promise<Partial<SandboxOptions>> {
  const world = await readOrCreate(join(folder, WORLD_FILE), () =>
    JSON.stringify({ ...WORLD, epoch: new Date(shell.clock.now()).toISOString() }),
  );
  try {
    return JSON.parse(world) as Partial<SandboxOptions>;
  } catch {
    throw unreadable(folder, WORLD_FILE, 'JSON');
  }
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
