import { ClassifiedError, Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { databaseTime } from '../../db/connection/db.ts';
import { type ConnectionOptions, resolveConnection } from '../../db/connection/pool.ts';
import { quotedName } from '../../db/connection/quoted.ts';
import {
  addMissingColumns,
  continueIdentities,
  copiedColumns,
  copiedName,
} from '../../db/copy/copied-columns.ts';
import { COPIED_TABLES } from '../../db/copy/copied-tables.ts';
import { type CopyConnection, copyRows, inTransaction } from '../../db/copy/copy-connection.ts';
import { markCopied } from '../../db/installation/installation.ts';
import { endpointHost } from '../../db/installation/fingerprint.ts';
import { migrateEmpty, unknownMigrations } from '../../db/migrations/run-migrations.ts';
import { ensureGrants } from '../../db/roles/grants.ts';
import { followRestoredColumns } from '../../mirror/columns/follow-columns.ts';
import { MIGRATIONS } from '../program-files.ts';

export interface CopyOptions {
  /** Of a mirror of this version, past a transaction pooler. */
  readonly source: ConnectionOptions;
  readonly target: ConnectionOptions;
  /** MIRROR_SCHEMA, of both. */
  readonly schema: string;
  readonly signal: AbortSignal;
  /** @param bytes of the table's rows so far */
  readonly onBytes: (table: string, bytes: number) => void;
}

export interface CopyReport {
  /** When the snapshot was taken, by the source's clock; ISO 8601. */
  readonly takenAt: string;
  readonly rows: number;
  /** Rows by table, `mirror.lists` or `state.scope`. */
  readonly tables: Readonly<Record<string, number>>;
}

/** The target has a mirror, or a newer program has changed the source: nothing was touched. */
export class CopyRefused extends Error {
  override readonly name = 'CopyRefused';
}

/**
 * Copies a mirror from one snapshot to an empty place, in one transaction there: a copy that ends early, however it ends,
 * leaves the place empty. The copy is on hold (markCopied).
 * @throws CopyRefused; DatabaseUnavailable, Unusable; the signal's reason
 */
export async function copyMirror(options: CopyOptions): Promise<CopyReport> {
  const { source, target, schema, signal } = options;
  await resolveConnection(target).catch(ofTarget);
  return inTransaction({ ...target, schema }, 'read committed', signal, async (to) => {
    if (!(await migrateEmpty(to.db, MIGRATIONS).catch(ofTarget))) {
      throw new CopyRefused(
        `the target has a mirror in schema "${schema}" already (is it the source itself?): copy into an empty database`,
      );
    }
    // What the migrations write comes from the source, too.
    for (const table of COPIED_TABLES) await to.db.raw(`truncate ${copiedName(to.db, table)}`);
    const report = await inTransaction({ ...source, schema }, 'repeatable read, read only', signal, (from) =>
      copyTables(from, to, options),
    );
    await followRestoredColumns(to.db);
    for (const table of COPIED_TABLES) await to.db.raw(`analyze ${copiedName(to.db, table)}`);
    await markCopied(to.db, endpointHost(target.url, target.variables));
    await ensureGrants(to.db);
    return report;
  });
}

/** Says of an error that it is the target's, by the target's settings. Its causes are in its words. @throws always */
export function ofTarget(error: unknown): never {
  if (!(error instanceof ClassifiedError)) throw error;
  const told = messageOf(error).replaceAll('DATABASE_URL', 'MIRROR_COPY_TO');
  throw new Unusable(`the target: ${told.replaceAll('MIRROR_DATA_DIR', '--data-dir')}`);
}

async function copyTables(
  from: CopyConnection,
  to: CopyConnection,
  { onBytes }: CopyOptions,
): Promise<CopyReport> {
  const takenAt = (await databaseTime(from.db)).toISOString();
  const unknown = await unknownMigrations(from.db, MIGRATIONS);
  if (unknown.length > 0) {
    throw new CopyRefused(
      `the mirror is newer than this program (${unknown.join(', ')}): copy it with that version`,
    );
  }
  const tables: Record<string, number> = {};
  for (const table of COPIED_TABLES) {
    const name = `${table.schema}.${table.name}`;
    const found = await copiedColumns(from.db, table);
    if (table.schema === 'mirror') await addMissingColumns(to.db, table, found);
    // What a state table of the target lacks is what a migration drops there once no older program lives.
    const there = new Set((await copiedColumns(to.db, table)).map(({ name: column }) => column));
    const columns = found.filter((column) => there.has(column.name));
    const names = `(${columns.map((column) => quotedName(column.name)).join(', ')})`;
    const read = `copy ${copiedName(from.db, table)} ${names} to stdout`;
    // Nobody sees the table before the commit: its rows need no look at who wrote them, ever.
    const write = `copy ${copiedName(to.db, table)} ${names} from stdin (freeze)`;
    tables[name] = await copyRows(from, to, { read, write }, (bytes) => onBytes(name, bytes));
    await continueIdentities(to.db, table, columns);
  }
  return { takenAt, rows: Object.values(tables).reduce((sum, rows) => sum + rows, 0), tables };
}
