import { resolve } from 'node:path';
import { countOf } from '@research-mirror/runtime/figures';
import { copyMirror, CopyRefused, ofTarget } from '../app/copy/copy-mirror.ts';
import { reachDatabase } from '../app/process/open-mirror.ts';
import type { Config, DatabaseConfig } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import type { Options } from './definitions/definition.ts';
import { onMirror } from './steps/mirror.ts';
import { workOptions } from './steps/work-options.ts';
import { EXIT, UsageError, type ExitCode } from './terminal/exit-code.ts';
import { Progress } from './terminal/progress.ts';
import { complain, say, type Shell } from './terminal/shell.ts';

/** What `copy` does. */
export async function copyAction(
  shell: Shell,
  given: readonly string[],
  { dataDir, json, demo }: Options<'json' | 'demo', 'dataDir'>,
): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'database');
  const to = targetOf(config, given, dataDir);
  return onMirror(shell, 'copy', { config, demo }, async ({ direct }) => {
    const options = { ...workOptions(shell, config), command: 'copy' };
    const target = await reachDatabase(to, options).catch(ofTarget);
    const progress = new Progress(shell);
    try {
      const report = await copyMirror({
        source: direct,
        target: target.direct,
        schema: config.schema,
        signal: shell.signal,
        onBytes: (table, bytes) => progress.show(`${table}: ${(bytes / 1e6).toFixed(1)} MB`),
      });
      progress.end();
      const { rows, tables, takenAt } = report;
      const told =
        `copied ${countOf(rows, 'row')} of ${countOf(Object.keys(tables).length, 'table')}, as of ${takenAt}.\n` +
        'What was queued is on hold in the copy; once the original is off: "research-mirror submissions release". ' +
        'Its first start reads everything again.';
      say(shell, json === true ? JSON.stringify({ ...report, schema: config.schema, held: true }) : told);
      return EXIT.DONE;
    } catch (error) {
      if (!(error instanceof CopyRefused)) throw error;
      complain(shell, `${error.message}. Nothing was touched.`);
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
