import { runDaemon } from '../../app/daemon/run-daemon.ts';
import type { PassProgress } from '../../app/sync/pass-progress.ts';
import type { Config, ServiceConfig } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { embeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { isStopped } from '@research-mirror/runtime/service';
import type { Sandbox } from '@research-mirror/sandbox/start-sandbox';
import { DEMO_KEY, demoConfig, keptPort, portOf, SERVICE_PORT } from '../steps/demo-folder.ts';
import { DEMO_USER, startDemoService } from './demo-service.ts';
import { demoFolder } from '../steps/mirror.ts';
import { workOptions } from '../steps/work-options.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { Progress } from '../terminal/progress.ts';
import { shortPath, type Shell } from '../terminal/shell.ts';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

// What is prepared in the demo, so that its features show: an item that can't be mirrored, a list that is deleted once
// it was mirrored, a delivery that nobody signed.

/** Name of a file in the demo's folder: the list that was deleted there. */
const DELETED_LIST = 'deleted-list';

/** Postgres has no such number: the entry goes to quarantine. */
const UNSTORABLE = '{"object":"watch_entry","id":"demo-unstorable","name":"Unstorable Ltd","score":1e200000}';

/** Deletes a list at the service, the first time that the demo has mirrored its lists. */
async function deleteOneList(controlUrl: string, folder: string): Promise<void> {
  if (existsSync(join(folder, DELETED_LIST))) return;
  const answer = await fetch(`${controlUrl}/truth?collection=lists`);
  const [first = ''] = (await answer.text()).split('\n');
  const { list_id: id } = JSON.parse(first) as { list_id: number };
  await writeFile(join(folder, DELETED_LIST), `${id}\n`);
  await mutate(controlUrl, { op: 'delete', collection: 'lists', id: String(id) });
}

/**
 * Sends what a stranger might: a delivery without signature. Until the daemon knows its accounts it asks for it again.
 * @param pause between two attempts; ends them by throwing
 */
async function sendUnsigned(webhookUrl: string, pause: () => Promise<void>): Promise<void> {
  for (;;) {
    const answer = await fetch(webhookUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"id":"evt_forged","type":"research.completed","data":{"job_id":1}}',
    });
    await answer.arrayBuffer();
    if (answer.status === 400) return;
    await pause();
  }
}

async function mutate(controlUrl: string, mutation: Readonly<Record<string, string>>): Promise<void> {
  const answer = await fetch(`${controlUrl}/mutations`, { method: 'POST', body: JSON.stringify([mutation]) });
  await answer.arrayBuffer();
}

/** Between two attempts to be refused, milliseconds. */
const RETRY_MS = 500;

/** What `demo` does. */
export async function demoAction(shell: Shell): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'database');
  const folder = demoFolder(config);
  const progress = new Progress(shell);
  try {
    const sandbox = await startDemoService(folder, shell);
    if (sandbox === undefined) {
      progress.say(`a demo runs here already:\n${await addressLines(folder)}\n`);
      return EXIT.DONE;
    }
    try {
      // The service remembers it at the next start, and refuses to have it twice.
      const item = { collection: 'watchlist', id: 'demo-unstorable', source: UNSTORABLE };
      await mutate(sandbox.controlUrl, { op: 'insert', ...item });
      await runDemo(shell, await ofDemo(config, folder, sandbox), sandbox, progress);
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

async function runDemo(
  shell: Shell,
  config: ServiceConfig,
  sandbox: Sandbox,
  progress: Progress,
): Promise<void> {
  const sums = new Map<string, PassProgress>();
  let listsMirrored = false;
  // A killed demo has the account for a moment yet, an older version's for as long as it runs: until then nothing new
  // is shown, which must not look like a defect.
  if ((await embeddedState(config.dataDir)) === 'running') {
    progress.say(
      "the demo's database runs already (another command uses it, or a demo was killed): " +
        'mirroring goes on as soon as nobody else does it',
    );
  }
  const lines = await addressLines(config.dataDir);
  progress.say(`starting: emulated service, embedded Postgres in ${shortPath(config.dataDir)}, daemon …`);
  await runDaemon(config, {
    ...workOptions(shell, config),
    onReady: () => {
      progress.say(welcome(lines, config.dataDir));
      const pause = (): Promise<void> => shell.clock.sleep(RETRY_MS, shell.signal);
      // What is only shown may fail: the demo goes on without.
      sendUnsigned(`${config.webhook.publicUrl}/webhooks/${DEMO_USER}`, pause).catch(() => {});
    },
    onProgress: (each) => {
      sums.set(each.collection, each);
      progress.show(progressLine([...sums.values()]));
      if (each.collection !== 'list_items' || listsMirrored) return;
      listsMirrored = true;
      deleteOneList(sandbox.controlUrl, config.dataDir).catch(() => {});
    },
  });
}

async function ofDemo(config: Config, folder: string, sandbox: Sandbox): Promise<ServiceConfig> {
  const webhookPort = await keptPort(folder, 'webhook-port');
  return {
    ...demoConfig(config, folder, sandbox.url),
    http: { ...config.http, host: '127.0.0.1', port: await keptPort(folder, 'page-port') },
    // The emulated service runs beside it: loopback is as public as need be.
    webhook: {
      ...config.webhook,
      publicUrl: `http://127.0.0.1:${webhookPort}`,
      host: '127.0.0.1',
      port: webhookPort,
    },
  };
}

/** Where the demo of this folder is. */
async function addressLines(folder: string): Promise<string> {
  const at = async (name: Parameters<typeof portOf>[1]): Promise<string> =>
    `http://127.0.0.1:${await portOf(folder, name)}`;
  return [
    '',
    `  status page        ${await at('page-port')}/`,
    `  emulated service   ${await at(SERVICE_PORT)} (key ${DEMO_KEY}), control API ${await at('control-port')}`,
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
    '    npx research-mirror verify research_jobs watchlist    (some seconds; all of it: some minutes)',
    '',
    '  Prepared in it: a service that is two weeks old, an item that can’t be mirrored (quarantine), a delivery that',
    '  nobody signed (refused: see below), and a list that the service deletes once it is mirrored',
    '  (sql "select list_id, _deleted_at from lists"; two minutes).',
    '',
    `  Ctrl-C ends it; the next demo goes on with its data, or anew once ${shortPath(dataDir)} is removed.`,
    '',
  ].join('\n');
}

/** What this run has mirrored. */
function progressLine(sums: readonly PassProgress[]): string {
  const rows = sums.reduce((sum, { inserted }) => sum + inserted, 0);
  const changes = sums.reduce((sum, { updated }) => sum + updated, 0);
  const parts = sums.flatMap(({ collection, inserted }) =>
    inserted > 0 ? [`${collection} ${formatCount(inserted)}`] : [],
  );
  const which = parts.length === 0 ? '' : ` (${parts.join(' · ')})`;
  return `mirrored: ${countOf(rows, 'new row')}${which}, ${countOf(changes, 'change')}`;
}
