import type { Db } from '../../db/connection/db.ts';
import { loadConfig } from '../../config/load.ts';
import { openDatabase } from '../../db/connection/database.ts';
import { migrate, MIGRATION_BOUNDS, pendingMigrations } from '../../db/migrations/run-migrations.ts';
import { whatIsMissing } from '../../db/inspection/inspection.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { failureText } from '../steps/failure.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { makeLog } from '../steps/log.ts';
import { reachMirror } from '../steps/mirror-database.ts';
import { MIGRATIONS, programVersion } from '../../app/program-files.ts';
import type { Shell } from '../terminal/shell.ts';

interface MigrateOptions {
  readonly check?: boolean;
  readonly json?: boolean;
}

/** What `migrate` does. */
export async function migrateAction(shell: Shell, options: MigrateOptions): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'database');
  const reached = await reachMirror(config, shell, {
    command: 'migrate',
    which: options.check === true ? 'own' : 'own or new',
    log: makeLog(config, shell, shell.err, 'warn'),
  });
  try {
    const { schema } = config;
    const database = await openDatabase({
      ...reached.direct,
      schema,
      max: 2,
      bounds: MIGRATION_BOUNDS,
    });
    try {
      return await bringUp(shell, database.db, options);
    } finally {
      await database.close();
    }
  } finally {
    await reached.leave();
  }
}

async function bringUp(shell: Shell, db: Db, { check, json }: MigrateOptions): Promise<ExitCode> {
  const { schema } = db;
  const options = { db, folder: MIGRATIONS, version: programVersion() };
  let pending: readonly string[];
  try {
    pending = await pendingMigrations(options);
  } catch (error) {
    // Of the database's own errors (no right, no connection) there is a cause; without one it is a judgement on the
    // database as it stands: newer than this program, made by other files, too old a PostgreSQL.
    if (!(error instanceof Unusable) || error.cause !== undefined) throw error;
    shell.err.write(shell.scrubber.scrub(failureText(error, false)));
    return EXIT.NO;
  }
  const applied = check === true ? [] : await migrate({ ...options, clock: shell.clock });
  const behind = check === true ? pending : [];
  const missing = behind.length === 0 ? await whatIsMissing(db, MIGRATIONS) : undefined;
  const text =
    behind.length > 0
      ? `schema "${schema}" is behind by ${countOf(behind.length, 'migration')}: ${behind.join(', ')}`
      : applied.length > 0
        ? `schema "${schema}" is now up to date: applied ${applied.join(', ')}`
        : `schema "${schema}" ${missing === undefined ? 'is up to date' : 'has all migrations'}`;
  shell.out.write(
    `${json === true ? JSON.stringify({ schema, pending: behind, applied, missing: missing ?? null }) : text}\n`,
  );
  if (missing !== undefined) shell.err.write(`research-mirror: ${missing}\n`);
  return behind.length > 0 || missing !== undefined ? EXIT.NO : EXIT.DONE;
}
