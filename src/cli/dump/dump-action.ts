import { writeDump } from '../../app/dump/write-dump.ts';
import { programVersion } from '../../app/program-files.ts';
import { loadConfig } from '../../config/load.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { Progress } from '../terminal/progress.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { describeDump } from './dump-text.ts';
import type { Shell } from '../terminal/shell.ts';

interface GivenOptions {
  readonly output: string;
  readonly json?: boolean;
  readonly demo?: boolean;
}

/** What `dump` does. */
export async function dumpAction(
  shell: Shell,
  { output, json = false, demo = false }: GivenOptions,
): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'database');
  const which = demo ? 'demo' : 'likely';
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
}

/** A place where no file can be is wrong usage; a full disk is not. */
function asUsage(error: unknown, file: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  return /^(ENOENT|EACCES|EISDIR|ENOTDIR|EROFS|EPERM)$/.test(code ?? '')
    ? new UsageError(`--output: ${JSON.stringify(file)} can’t be written: ${message}`)
    : error;
}
