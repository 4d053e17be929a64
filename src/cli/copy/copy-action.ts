import { resolve } from 'node:path';
import { countOf } from '@research-mirror/runtime/figures';
import { copyMirror, CopyRefused, ofTarget } from '../../app/copy/copy-mirror.ts';
import { reachDatabase } from '../../app/process/reach-database.ts';
import type { Config, DatabaseConfig } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { makeLog } from '../steps/log.ts';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { Progress } from '../terminal/progress.ts';
import type { Shell } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';

interface GivenOptions {
  readonly dataDir?: string;
  readonly json?: boolean;
  readonly demo?: boolean;
}

/** What `copy` does. */
export async function copyAction(
  shell: Shell,
  given: readonly string[],
  options: GivenOptions,
): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'database');
  const to = targetOf(config, given, options.dataDir);
  const { clock, signal, scrubber, err, out } = shell;
  const which = options.demo === true ? 'demo' : 'likely';
  return onMigratedMirror(shell, config, { command: 'copy', which }, async ({ reached }) => {
    const log = makeLog(config, shell, err, 'warn');
    const hide = (secret: string): void => scrubber.hide(secret);
    const target = await reachDatabase(to, { command: 'copy', log, clock, signal, hide }).catch(ofTarget);
    const progress = new Progress(shell);
    try {
      const report = await copyMirror({
        source: reached.direct,
        target: target.direct,
        schema: config.schema,
        signal,
        onBytes: (table, bytes) => progress.show(`${table}: ${(bytes / 1e6).toFixed(1)} MB`),
      });
      progress.end();
      const { rows, tables, takenAt } = report;
      out.write(
        options.json === true
          ? `${JSON.stringify({ ...report, schema: config.schema, held: true })}\n`
          : `copied ${countOf(rows, 'row')} of ${countOf(Object.keys(tables).length, 'table')}, as of ${takenAt}.\n` +
              'What was queued is on hold in the copy; once the original is off: "research-mirror submissions release". ' +
              'Its first start reads everything again.\n',
      );
      return EXIT.DONE;
    } catch (error) {
      if (!(error instanceof CopyRefused)) throw error;
      err.write(scrubber.scrub(`research-mirror: ${error.message}. Nothing was touched.\n`));
      return EXIT.NO;
    } finally {
      progress.end();
      await target.leave();
    }
  });
}

/** @throws UsageError */
function targetOf({ pgBin, copyTo }: Config, given: readonly string[], dataDir?: string): DatabaseConfig {
  // What was given is not repeated: it may have a password.
  if (given.length > 0 || /^postgres(ql)?:/.test(dataDir ?? '')) {
    throw new UsageError(
      'the target of copy stands in MIRROR_COPY_TO, or in the file that MIRROR_COPY_TO_FILE names, not on the command ' +
        'line, where others see its password',
    );
  }
  if ((dataDir === undefined) === (copyTo === undefined)) {
    throw new UsageError(
      'copy where to? Set MIRROR_COPY_TO to the URL of an empty database, or give --data-dir, and not both',
    );
  }
  return copyTo ?? { kind: 'embedded', dataDir: resolve(dataDir ?? ''), pgBin, port: 0 };
}
