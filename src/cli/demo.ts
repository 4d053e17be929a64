/** `demo`: an emulated service and a mirror of it, to look at. */

import { embeddedState, ensureWritableFolder } from '@research-mirror/embedded-postgres/embedded-state';
import { isPortFree } from '@research-mirror/embedded-postgres/ports';
import { Unusable } from '@research-mirror/runtime/errors';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { readOrCreate } from '@research-mirror/runtime/read-or-create';
import { isStopped } from '@research-mirror/runtime/service';
import { type Sandbox, startSandbox } from '@research-mirror/sandbox/start-sandbox';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PassProgress } from '../account/pass.ts';
import type { ServiceConfig } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { runDaemon } from '../daemon/run-daemon.ts';
import * as mirror from '../terminal/open-mirror.ts';
import { Progress } from '../terminal/progress.ts';
import { EXIT, type Shell, shortPath } from '../terminal/shell.ts';

// The demo prepares an item that can't be mirrored, and a list that is deleted once it is mirrored.

/** File with the ID of the deleted list. */
const DELETED_LIST = 'deleted-list';

/** Postgres can't store this number, so the entry goes to quarantine. */
const UNSTORABLE = '{"object":"watch_entry","id":"demo-unstorable","name":"Unstorable Ltd","score":1e200000}';

/** Deletes a list at the service, once. */
async function deleteOneList(controlUrl: string, folder: string): Promise<void> {
  if (existsSync(join(folder, DELETED_LIST))) return;
  const answer = await fetch(`${controlUrl}/truth?collection=lists`);
  const [first = ''] = (await answer.text()).split('\n');
  const { list_id: id } = JSON.parse(first) as { list_id: number };
  await writeFile(join(folder, DELETED_LIST), `${id}\n`);
  await mutate(controlUrl, { op: 'delete', collection: 'lists', id: String(id) });
}

async function mutate(controlUrl: string, mutation: Readonly<Record<string, string>>): Promise<void> {
  const answer = await fetch(`${controlUrl}/mutations`, { method: 'POST', body: JSON.stringify([mutation]) });
  await answer.arrayBuffer();
}

export async function demoAction(shell: Shell) {
  const config = loadConfig(shell.env, 'database');
  const folder = mirror.demoFolder(config);
  const progress = new Progress(shell);
  try {
    const sandbox = await startDemoService(folder, shell);
    if (sandbox === undefined) {
      progress.say(`a demo is already running here:\n${await addressLines(folder)}\n`);
      return EXIT.DONE;
    }
    try {
      // The service remembers the item, and refuses it at the next start.
      const item = { collection: 'watchlist', id: 'demo-unstorable', source: UNSTORABLE };
      await mutate(sandbox.controlUrl, { op: 'insert', ...item });
      const [host, port] = ['127.0.0.1', await mirror.keptPort(folder, 'webhook-port')];
      const demo = {
        ...mirror.demoConfig(config, folder, sandbox.url),
        http: { ...config.http, host, port: await mirror.keptPort(folder, 'page-port') },
        // The emulated service runs on the same machine, so loopback is public enough.
        webhook: { ...config.webhook, publicUrl: `http://${host}:${port}`, host, port },
      };
      await runDemo(shell, demo, sandbox, progress);
    } finally {
      await sandbox.stop();
    }
  } catch (error) {
    if (!isStopped(error)) throw error;
  } finally {
    progress.end();
  }
  return EXIT.DONE;
}

async function runDemo(shell: Shell, config: ServiceConfig, sandbox: Sandbox, progress: Progress) {
  const sums = new Map<string, PassProgress>();
  let listsMirrored = false;
  // A killed demo keeps the account for a moment, an older version's for as long as it runs. Nothing new is shown until
  // then, which must not look like a defect.
  if ((await embeddedState(config.dataDir)) === 'running') {
    progress.say(
      "the demo's database is already running (another command uses it, or a demo was killed). " +
        'Mirroring continues as soon as no other process mirrors the account.',
    );
  }
  const lines = await addressLines(config.dataDir);
  progress.say(`starting: emulated service, embedded Postgres in ${shortPath(config.dataDir)}, daemon …`);
  await runDaemon(config, {
    ...mirror.workOptions(shell, config),
    onReady: () => progress.say(welcome(lines, config.dataDir)),
    onProgress: (each) => {
      sums.set(each.collection, each);
      progress.show(progressLine([...sums.values()]));
      if (each.collection !== 'list_items' || listsMirrored) return;
      listsMirrored = true;
      deleteOneList(sandbox.controlUrl, config.dataDir).catch(() => {});
    },
  });
}

async function addressLines(folder: string): Promise<string> {
  const at = async (name: Parameters<typeof mirror.portOf>[1]): Promise<string> =>
    `http://127.0.0.1:${await mirror.portOf(folder, name)}`;
  return [
    '',
    `  status page        ${await at('page-port')}/`,
    `  emulated service   ${await at(mirror.SERVICE_PORT)} (key ${mirror.DEMO_KEY}), control API ${await at('control-port')}`,
  ].join('\n');
}

function welcome(addresses: string, dataDir: string): string {
  return [
    addresses,
    '',
    '  Look at the mirror from another terminal, in this folder:',
    '    npx research-mirror sql "select status, count(*) from research_jobs_live group by status"',
    '    npx research-mirror status',
    '    npx research-mirror events',
    '    npx research-mirror verify research_jobs watchlist    (takes seconds; without names, minutes)',
    '',
    '  The demo has a service with two weeks of data, an item that can’t be mirrored (quarantine), and a list that the',
    '  service deletes after it is mirrored',
    '  (sql "select list_id, _deleted_at from lists", after two minutes).',
    '',
    `  Ctrl-C ends the demo. The next one continues with its data; to start over, remove ${shortPath(dataDir)}.`,
    '',
  ].join('\n');
}

function progressLine(sums: readonly PassProgress[]): string {
  const sum = (of: 'inserted' | 'updated') => sums.reduce((all, each) => all + each[of], 0);
  const parts = sums.flatMap(({ collection, inserted }) =>
    inserted > 0 ? [`${collection} ${formatCount(inserted)}`] : [],
  );
  const which = parts.length === 0 ? '' : ` (${parts.join(' · ')})`;
  return `mirrored: ${countOf(sum('inserted'), 'new row')}${which}, ${countOf(sum('updated'), 'change')}`;
}

const DEMO_USER = 1001;

/** A service used for two weeks by people who research companies on their lists. */
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

/** In ms: a listener that does not answer within this time is no demo. */
const PATIENCE = 10_000;

/**
 * Starts the demo's emulated service as last time: another world would change every row, without our webhook it would
 * look removed, and at another address it would be refused. Undefined: another demo of this folder runs.
 * @throws Unusable if another program has the port
 */
async function startDemoService(folder: string, shell: Shell): Promise<Sandbox | undefined> {
  await ensureWritableFolder(folder);
  if (existsSync(join(folder, 'epoch')))
    throw new Unusable(`research-mirror 0.1 made ${shortPath(folder)}. Remove that folder to start over.`);
  const world = await worldOf(folder, shell);
  const port = await mirror.portOf(folder, mirror.SERVICE_PORT);
  if (!(await isPortFree(port))) {
    if (await isDemo(port, shell.signal)) return undefined;
    throw new Unusable(
      `another program uses port ${port}, where the demo's mirror expects its service (${shortPath(join(folder, mirror.SERVICE_PORT))}). ` +
        `Stop that program, or remove the folder ${shortPath(folder)} to start over.`,
    );
  }
  // Only now, since another demo that runs has this port, too.
  const controlPort = await mirror.keptPort(folder, 'control-port');
  const keys = `${mirror.DEMO_KEY}=${DEMO_USER}`;
  const memory = join(folder, 'service-memory');
  return startSandbox({ ...world, port, controlPort, keys, memory }, shell.clock);
}

const WORLD_FILE = 'world.json';

/** The world of the first start. */
async function worldOf(folder: string, shell: Shell): Promise<Partial<SandboxOptions>> {
  const world = await readOrCreate(join(folder, WORLD_FILE), () =>
    JSON.stringify({ ...WORLD, epoch: new Date(shell.clock.now()).toISOString() }),
  );
  try {
    return JSON.parse(world) as Partial<SandboxOptions>;
  } catch {
    throw mirror.unreadable(folder, WORLD_FILE, 'JSON');
  }
}

/** Whether a demo's service answers. Called once, since each request counts in the rate limit of its account. */
async function isDemo(port: number, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/ping`, {
      headers: { authorization: `Bearer ${mirror.DEMO_KEY}` },
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]),
    });
    return ((await response.json()) as { user_id?: unknown } | null)?.user_id === DEMO_USER;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
