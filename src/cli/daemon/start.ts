import { loadConfig } from '../../config/load.ts';
import { isStopped } from '@research-mirror/runtime/service';
import { examples, type AddCommand } from '../terminal/add-command.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { terminalOf } from '../terminal/shell.ts';
import { makeLog } from '../steps/log.ts';

export const addStart: AddCommand = (program, run) => {
  program
    .command('start')
    .summary('the daemon: mirror, and keep the mirror current')
    .description(
      'The daemon: brings the database to this version, checks the keys, polls the service and serves the status page. ' +
        'Needs MIRROR_API_URL and MIRROR_API_KEY, in the environment or in .env. Its log goes to stdout.',
    )
    .addHelpText(
      'after',
      examples([
        [
          'MIRROR_API_URL=https://api.example.com MIRROR_API_KEY=… research-mirror start',
          'embedded Postgres',
        ],
        ['DATABASE_URL=postgres://… research-mirror start', 'your own Postgres; the rest from .env'],
      ]),
    )
    .action(
      run(async (shell) => {
        const config = loadConfig(shell.env, 'service');
        try {
          const { runDaemon } = await import('../../app/daemon/run-daemon.ts');
          shell.signal.throwIfAborted();
          await runDaemon(config, {
            signal: shell.signal,
            log: makeLog(config, shell, shell.out, 'info'),
            hide: (secret) => shell.scrubber.hide(secret),
            scrub: (text) => shell.scrubber.scrub(text),
            toTerminal: terminalOf(shell),
          });
        } catch (error) {
          // Interrupted while it was still starting: that, too, is a clean stop.
          if (!isStopped(error)) throw error;
        }
        return EXIT.DONE;
      }),
    );
};
