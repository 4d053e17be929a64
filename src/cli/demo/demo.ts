import type { PassProgress } from '../../app/sync/pass-progress.ts';
import type { Config, ServiceConfig } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { Secret } from '../../config/secret.ts';
import { freePort } from '@research-mirror/embedded-postgres/ports';
import { embeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { isStopped } from '@research-mirror/runtime/service';
import type { Sandbox } from '@research-mirror/sandbox/start-sandbox';
import { examples, type AddCommand } from '../terminal/add-command.ts';
import { DEMO_KEY, startDemoService } from './demo-service.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { makeLog } from '../steps/log.ts';
import { demoFolder } from '../steps/mirror-database.ts';
import { Progress } from '../terminal/progress.ts';
import type { Shell } from '../terminal/shell.ts';
import { shortPath } from '../terminal/short-path.ts';

export const addDemo: AddCommand = (program, run) => {
  program
    .command('demo')
    .summary('see it work: emulated service, embedded Postgres and daemon in one')
    .description(
      'Emulated service, embedded Postgres and daemon in one, until Ctrl-C. Needs no configuration, uses none of your ' +
        'account or database, takes free ports (its emulated service the same one at each start), and keeps its data in ' +
        'data/demo: remove that folder to begin anew.',
    )
    .addHelpText(
      'after',
      examples([
        ['npm run demo', 'then, in another terminal:'],
        ['npm run -s mirror -- sql "select * from freshness"', 'what is mirrored, and how fresh'],
      ]),
    )
    .action(
      run(async (shell) => {
        const config = loadConfig(shell.env, 'database');
        const folder = demoFolder(config);
        const progress = new Progress(shell);
        try {
          const sandbox = await startDemoService(folder, shell, (text) => progress.say(text));
          try {
            await runDemo(shell, demoConfig(config, folder, sandbox, await freePort()), sandbox, progress);
          } finally {
            await sandbox.stop();
          }
        } catch (error) {
          if (!isStopped(error)) throw error;
        } finally {
          progress.end();
        }
        return EXIT.DONE;
      }),
    );
};

async function runDemo(
  shell: Shell,
  config: ServiceConfig,
  sandbox: Sandbox,
  progress: Progress,
): Promise<void> {
  const { runDaemon } = await import('../../app/daemon/run-daemon.ts');
  const sums = new Map<string, PassProgress>();
  // A killed demo has the account for a moment yet, an older version's for as long as it runs: until then nothing new
  // is shown, which must not look like a defect.
  if ((await embeddedState(config.dataDir)) === 'running') {
    progress.say(
      "the demo's database runs already (another command uses it, or a demo was killed): " +
        'mirroring goes on as soon as nobody else does it',
    );
  }
  progress.say(`starting: emulated service, embedded Postgres in ${shortPath(config.dataDir)}, daemon …`);
  await runDaemon(config, {
    signal: shell.signal,
    log: makeLog(config, shell, shell.err, 'warn'),
    hide: (secret) => shell.scrubber.hide(secret),
    scrub: (text) => shell.scrubber.scrub(text),
    onReady: ({ statusUrl }) => progress.say(welcome(statusUrl, sandbox, config.dataDir)),
    onProgress: (each) => {
      sums.set(each.collection, each);
      progress.show(progressLine([...sums.values()]));
    },
  });
}

/** Nothing of the user's own account and database: those may be configured, and must not meet the demo's data. */
function demoConfig(config: Config, folder: string, sandbox: Sandbox, webhookPort: number): ServiceConfig {
  return {
    ...config,
    dataDir: folder,
    database: { kind: 'embedded', dataDir: folder, port: 0 },
    service: { url: sandbox.url, keys: [new Secret(DEMO_KEY)] },
    http: { ...config.http, host: '127.0.0.1', port: 0 },
    // The emulated service runs beside it: loopback is as public as need be.
    webhook: {
      ...config.webhook,
      publicUrl: `http://127.0.0.1:${webhookPort}`,
      host: '127.0.0.1',
      port: webhookPort,
    },
  };
}

function welcome(statusUrl: string, sandbox: Sandbox, dataDir: string): string {
  return [
    '',
    `  status page        ${statusUrl}`,
    `  emulated service   ${sandbox.url} (key ${DEMO_KEY}), control API ${sandbox.controlUrl}`,
    '',
    '  Look at the mirror from another terminal, in this folder:',
    '    npm run -s mirror -- sql "select status, count(*) from research_jobs_live group by status"',
    '    npm run -s mirror -- status',
    '    npm run -s mirror -- events',
    '',
    `  Ctrl-C ends it; the next demo goes on with its data, or anew once ${shortPath(dataDir)} is removed.`,
    '',
  ].join('\n');
}

/** What this run has mirrored. */
function progressLine(sums: readonly PassProgress[]): string {
  const rows = sums.reduce((sum, { inserted }) => sum + inserted, 0);
  const changes = sums.reduce((sum, { updated }) => sum + updated, 0);
  const parts = sums
    .filter(({ inserted }) => inserted > 0)
    .map(({ collection, inserted }) => `${collection} ${formatCount(inserted)}`);
  const which = parts.length === 0 ? '' : ` (${parts.join(' · ')})`;
  return `mirrored: ${countOf(rows, 'new row')}${which}, ${countOf(changes, 'change')}`;
}
