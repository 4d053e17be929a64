import { open, type FileHandle } from 'node:fs/promises';
import { MIGRATIONS, programVersion } from '../../app/program-files.ts';
import { RestoreRefused } from '../../app/dump/dump-header.ts';
import { openDump, restoreDump, type OpenDump } from '../../app/dump/restore-dump.ts';
import { type Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { makeLog } from '../steps/log.ts';
import { reachMirror } from '../steps/mirror-database.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { Progress } from '../terminal/progress.ts';
import type { Shell } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { describeDump } from './dump-text.ts';

/** What `restore` does. */
export async function restoreAction(
  shell: Shell,
  path: string,
  { json = false }: { readonly json?: boolean },
): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'database');
  const file = await openFile(path);
  try {
    return await restore(shell, config, file, await openDump(file, MIGRATIONS), json);
  } catch (error) {
    if (!(error instanceof RestoreRefused)) throw error;
    shell.err.write(shell.scrubber.scrub(`research-mirror: ${path}: ${error.message}\n`));
    return EXIT.NO;
  } finally {
    await file.close();
  }
}

async function restore(
  shell: Shell,
  config: Config,
  file: FileHandle,
  dump: OpenDump,
  json: boolean,
): Promise<ExitCode> {
  const { size } = await file.stat();
  const log = makeLog(config, shell, shell.err, 'warn');
  const reached = await reachMirror(config, shell, { command: 'restore', which: 'own or new', log });
  const progress = new Progress(shell);
  try {
    const report = await restoreDump(dump, {
      connection: reached.direct,
      schema: config.schema,
      version: programVersion(),
      folder: MIGRATIONS,
      clock: shell.clock,
      signal: shell.signal,
      // A pipe has no size.
      onBytes: (table, bytes) =>
        progress.show(size === 0 ? table : `${table}: ${Math.floor((100 * bytes) / size)} % of the file`),
    });
    progress.end();
    shell.out.write(
      json
        ? `${JSON.stringify({ ...report, schema: config.schema, held: true })}\n`
        : `restored ${describeDump(report)}, into ${reached.words}.\nWhat was queued is on hold; once the original is off: ` +
            '"research-mirror submissions release". The next start reads everything again.\n',
    );
    return EXIT.DONE;
  } finally {
    progress.end();
    await reached.leave();
  }
}

/** @throws UsageError */
async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path);
  } catch (error) {
    throw new UsageError(`${JSON.stringify(path)} can’t be read: ${(error as Error).message}`);
  }
}
