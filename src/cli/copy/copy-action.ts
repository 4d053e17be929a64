import { resolve } from 'node:path';
import { countOf } from '@research-mirror/runtime/figures';
import { copyMirror, CopyRefused, type CopyReport } from '../../app/copy/copy-mirror.ts';
import { reachDatabase } from '../../app/process/reach-database.ts';
import { MIGRATIONS } from '../../app/program-files.ts';
import type { Config, DatabaseConfig } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { makeLog } from '../steps/log.ts';
import { type MirrorDatabase } from '../steps/mirror-database.ts';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { Progress } from '../terminal/progress.ts';
import type { Shell } from '../terminal/shell.ts';
import { shortPath } from '../terminal/short-path.ts';
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
  const to = targetOf(config, given, options);
  const which = options.demo === true ? 'demo' : 'likely';
  return onMigratedMirror(shell, config, { command: 'copy', which }, async ({ reached }) => {
    try {
      return await copy(shell, config, reached, to, options);
    } catch (error) {
      if (!(error instanceof CopyRefused)) throw error;
      shell.err.write(shell.scrubber.scrub(`research-mirror: ${error.message}. Nothing was touched.\n`));
      return EXIT.NO;
    }
  });
}

/** @throws UsageError */
function targetOf(
  { pgBin, copyTo }: Config,
  given: readonly string[],
  { dataDir }: GivenOptions,
): DatabaseConfig {
  // What was given is not repeated: it may have a password.
  if (given.length > 0 || /^postgres(ql)?:/.test(dataDir ?? '')) {
    throw new UsageError(
      'the target of copy stands in MIRROR_COPY_TO, or in the file that MIRROR_COPY_TO_FILE names, not on the command ' +
        'line, where others see its password',
    );
  }
  if (dataDir === undefined) {
    if (copyTo !== undefined) return copyTo;
    throw new UsageError(
      'copy where to? Set MIRROR_COPY_TO to the URL of an empty database, or give --data-dir',
    );
  }
  if (copyTo !== undefined)
    throw new UsageError('MIRROR_COPY_TO is set and --data-dir is given: take one of them');
  return { kind: 'embedded', dataDir: resolve(dataDir), pgBin, port: 0 };
}

async function copy(
  shell: Shell,
  { schema, ...config }: Config,
  source: MirrorDatabase,
  to: DatabaseConfig,
  { json = false }: GivenOptions,
): Promise<ExitCode> {
  const { clock, signal, scrubber, err } = shell;
  const target = await reachDatabase(to, {
    command: 'copy',
    log: makeLog({ schema, ...config }, shell, err, 'warn'),
    clock,
    signal,
    hide: (secret) => scrubber.hide(secret),
  });
  const progress = new Progress(shell);
  try {
    const report = await copyMirror({
      source: source.direct,
      target: target.direct,
      schema,
      folder: MIGRATIONS,
      signal,
      onBytes: (table, bytes) => progress.show(`${table}: ${(bytes / 1e6).toFixed(1)} MB`),
    });
    progress.end();
    const place =
      to.kind === 'embedded'
        ? `embedded Postgres in ${shortPath(to.dataDir)}`
        : 'the Postgres of MIRROR_COPY_TO';
    shell.out.write(
      json ? `${JSON.stringify({ ...report, schema, held: true })}\n` : describeCopy(report, place),
    );
    return EXIT.DONE;
  } finally {
    progress.end();
    await target.leave();
  }
}

function describeCopy({ rows, tables, takenAt, leftOut }: CopyReport, place: string): string {
  const columns = leftOut.length === 0 ? '' : `, without your own ${leftOut.join(', ')}`;
  return (
    `copied ${countOf(rows, 'row')} of ${countOf(Object.keys(tables).length, 'table')}, as of ${takenAt}${columns}, into ${place}.\n` +
    'What was queued is on hold there; once the original is off: "research-mirror submissions release". The first start reads everything again.\n'
  );
}
