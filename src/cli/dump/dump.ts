import { programVersion } from '../../app/program-files.ts';
import { loadConfig } from '../../config/load.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { examples, type AddCommand } from '../terminal/add-command.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { Progress } from '../terminal/progress.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { describeDump } from './dump-text.ts';

interface GivenOptions {
  readonly output: string;
  readonly json?: boolean;
  readonly demo?: boolean;
}

export const addDump: AddCommand = (program, run) => {
  program
    .command('dump')
    .summary('the whole mirror into one file')
    .description(
      'Writes all that the mirror is, history, events and submissions included, into one compressed file, from one ' +
        'moment, beside a running daemon too. "restore" makes a mirror of it, on any PostgreSQL from 15 on. It contains ' +
        'no key, no secret, and nothing of other tables, roles, views or indexes of yours.',
    )
    .requiredOption('-o, --output <file>', 'where to: replaced once the new one is whole')
    .option('--json', 'what was written, as JSON on stdout')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText('after', examples([['research-mirror dump -o mirror.dump', 'all of it']]))
    .action(
      run(async (shell, { output, json = false, demo = false }: GivenOptions) => {
        const config = loadConfig(shell.env, 'database');
        const which = demo ? 'demo' : 'likely';
        // Loaded when needed: --help needs none of it.
        const { writeDump } = await import('../../app/dump/write-dump.ts');
        return onMigratedMirror(shell, config, { command: 'dump', which }, async ({ reached }) => {
          const progress = new Progress(shell);
          try {
            const written = await writeDump({
              connection: reached.direct,
              schema: config.schema,
              version: programVersion(),
              file: output,
              signal: shell.signal,
              onRows: (table, rows) => progress.show(`${table}: ${countOf(rows, 'row')}`),
            });
            progress.end();
            shell.out.write(
              json
                ? `${JSON.stringify({ file: output, ...written })}\n`
                : `${describeDump(written)} in ${output} (${(written.bytes / 1e6).toFixed(1)} MB)\n`,
            );
            return EXIT.DONE;
          } catch (error) {
            throw asUsage(error, output);
          } finally {
            progress.end();
          }
        });
      }),
    );
};

/** A place where no file can be is wrong usage; a full disk is not. */
function asUsage(error: unknown, file: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  return /^(ENOENT|EACCES|EISDIR|ENOTDIR|EROFS|EPERM)$/.test(code ?? '')
    ? new UsageError(`--output: ${JSON.stringify(file)} can’t be written: ${message}`)
    : error;
}
