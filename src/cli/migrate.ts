import { Unusable } from '@research-mirror/runtime/errors';
import { countOf } from '@research-mirror/runtime/figures';
import { MIGRATIONS, programVersion } from '../config/program.ts';
import type { Db } from '../postgres/db.ts';
import { whatIsMissing } from '../postgres/inspection.ts';
import { migrate, MIGRATION_BOUNDS, pendingMigrations } from '../postgres/run-migrations.ts';
import { onMirror } from '../terminal/open-mirror.ts';
import { complain, EXIT, failureText, type Options, say, type Shell } from '../terminal/shell.ts';

export async function migrateAction(shell: Shell, { check, json }: Options<'check' | 'json'>) {
  const which = check === true ? 'own' : 'own or new';
  const options = { which, bounds: MIGRATION_BOUNDS, direct: true, anyVersion: true } as const;
  return onMirror(shell, 'migrate', options, ({ db }) => bringUp(shell, db, check === true, json === true));
}

async function bringUp(shell: Shell, db: Db, check: boolean, json: boolean) {
  const { schema } = db;
  const options = { db, folder: MIGRATIONS, version: programVersion() };
  let pending: Awaited<ReturnType<typeof pendingMigrations>>;
  try {
    pending = await pendingMigrations(options);
  } catch (error) {
    // An error of the database (no right, no connection) has a cause. Without a cause it is a judgement on the
    // database: newer than this program, made by other files, too old a PostgreSQL.
    if (!(error instanceof Unusable) || error.cause !== undefined) throw error;
    shell.err.write(shell.scrubber.scrub(failureText(error, false)));
    return EXIT.NO;
  }
  const drops = pending.find((each) => each.drops);
  if (!check && drops !== undefined && !pending.some(({ name }) => name.startsWith('0001_'))) {
    complain(
      shell,
      `${drops.name} drops what programs before ${drops.oldestProgram} use. To go back to them later, you need to restore a backup from before this migration.`,
    );
  }
  const { applied, waiting } = check
    ? { applied: [], waiting: undefined }
    : await migrate({ ...options, clock: shell.clock });
  const behind = check ? pending.map(({ name }) => name) : [];
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
  say(shell, json ? JSON.stringify(report) : text);
  if (missing !== undefined) complain(shell, missing);
  return behind.length > 0 || waiting !== undefined || missing !== undefined ? EXIT.NO : EXIT.DONE;
}
