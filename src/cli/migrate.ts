import { Unusable } from '@research-mirror/runtime/errors';
import { countOf } from '@research-mirror/runtime/figures';
import { MIGRATIONS, programVersion } from '../config/program.ts';
import type { Db } from '../postgres/db.ts';
import { whatIsMissing } from '../postgres/inspection.ts';
import { migrate, MIGRATION_BOUNDS, pendingMigrations } from '../postgres/run-migrations.ts';
import { onDatabase } from '../terminal/open-mirror.ts';
import { complain, EXIT, failureText, type Options, say, type Shell } from '../terminal/shell.ts';

type MigrateOptions = Options<'check' | 'json'>;

export async function migrateAction(shell: Shell, options: MigrateOptions) {
  const which = options.check === true ? 'own' : 'own or new';
  return onDatabase(shell, 'migrate', { which, bounds: MIGRATION_BOUNDS, direct: true }, ({ db }) =>
    bringUp(shell, db, options),
  );
}

async function bringUp(shell: Shell, db: Db, { check, json }: MigrateOptions) {
  const { schema } = db;
  const options = { db, folder: MIGRATIONS, version: programVersion() };
  let pending: Awaited<ReturnType<typeof pendingMigrations>>;
  try {
    pending = await pendingMigrations(options);
  } catch (error) {
    // Of the database's own errors (no right, no connection) there is a cause; without one it is a judgement on the
    // database as it stands: newer than this program, made by other files, too old a PostgreSQL.
    if (!(error instanceof Unusable) || error.cause !== undefined) throw error;
    shell.err.write(shell.scrubber.scrub(failureText(error, false)));
    return EXIT.NO;
  }
  const drops = pending.find((each) => each.drops);
  if (check !== true && drops !== undefined && !pending.some(({ name }) => name.startsWith('0001_'))) {
    complain(
      shell,
      `${drops.name} drops what programs before ${drops.oldestProgram} use: once it is made, the way back to them is a restore of a backup from before`,
    );
  }
  const { applied, waiting } =
    check === true ? { applied: [], waiting: undefined } : await migrate({ ...options, clock: shell.clock });
  const behind = check === true ? pending.map(({ name }) => name) : [];
  const missing = behind.length === 0 ? await whatIsMissing(db, MIGRATIONS) : undefined;
  const text =
    behind.length > 0
      ? `schema "${schema}" is behind by ${countOf(behind.length, 'migration')}: ${behind.join(', ')}`
      : waiting !== undefined
        ? `schema "${schema}" works with this version; ${waiting}`
        : applied.length > 0
          ? `schema "${schema}" is now up to date: applied ${applied.join(', ')}`
          : `schema "${schema}" ${missing === undefined ? 'is up to date' : 'has all migrations'}`;
  const report = { schema, pending: behind, applied, waiting: waiting ?? null, missing: missing ?? null };
  say(shell, json === true ? JSON.stringify(report) : text);
  if (missing !== undefined) complain(shell, missing);
  return behind.length > 0 || waiting !== undefined || missing !== undefined ? EXIT.NO : EXIT.DONE;
}
