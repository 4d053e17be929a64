import { messageOf } from '@research-mirror/runtime/message';
import { ClassifiedError, Unusable } from '@research-mirror/runtime/errors';
import { databaseTime } from '../../db/connection/database-time.ts';
import type { Db } from '../../db/connection/db.ts';
import { type ConnectionOptions, triedConnection } from '../../db/connection/pool.ts';
import { quotedName } from '../../db/connection/quoted.ts';
import { COPIED_TABLES } from '../../db/copy/copied-tables.ts';
import { type CopyConnection, copyRows, inTransaction } from '../../db/copy/copy-connection.ts';
import {
  addMissingColumns,
  continueIdentities,
  copiedColumns,
  copiedName,
} from '../../db/copy/copied-columns.ts';
import { markCopied } from '../../db/installation/copied-installation.ts';
import { endpointHost } from '../../db/installation/fingerprint.ts';
import { readMigrations } from '../../db/migrations/migrations.ts';
import { throwIfNamesTaken } from '../../db/migrations/names-taken.ts';
import {
  appliedMigrations,
  applyMigration,
  checkServer,
  lockMigrations,
} from '../../db/migrations/run-migrations.ts';
import { ensureGrants } from '../../db/roles/grants.ts';
import { followRestoredColumns } from '../../mirror/columns/restore-columns.ts';

export interface CopyOptions {
  /** Past a transaction pooler, where there is such a way. */
  readonly source: ConnectionOptions;
  readonly target: ConnectionOptions;
  /** MIRROR_SCHEMA, of both. */
  readonly schema: string;
  /** Folder of the numbered migrations. */
  readonly folder: string;
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
  /** Columns of somebody's own that are not in it: `mirror.lists.my_column`. */
  readonly leftOut: readonly string[];
}

/** The target has a mirror, or the source is of another version: nothing was touched. */
export class CopyRefused extends Error {
  override readonly name = 'CopyRefused';
}

/**
 * Copies a mirror from one snapshot to an empty place, in one transaction there: a copy that ends early, however it ends,
 * leaves the place empty. The copy is on hold (markCopied).
 * @throws CopyRefused; DatabaseUnavailable, Unusable; the signal's reason
 */
export async function copyMirror(options: CopyOptions): Promise<CopyReport> {
  const { source, schema, signal } = options;
  const target = await triedTarget(options.target);
  return inTransaction({ ...target, schema }, 'read committed', signal, async (to) => {
    await makeTables(to.db, options.folder);
    const report = await inTransaction(
      { ...source, schema },
      'repeatable read, read only',
      signal,
      async (from) => copyTables(from, to, options.onBytes),
    );
    await followRestoredColumns(to.db);
    for (const table of COPIED_TABLES) await to.db.raw(`analyze ${copiedName(to.db, table)}`);
    await markCopied(to.db, endpointHost(target.url, target.variables));
    await ensureGrants(to.db);
    return report;
  });
}

/** @throws DatabaseUnavailable, Unusable: of both databases the message says which one it is */
async function triedTarget(target: ConnectionOptions): Promise<ConnectionOptions> {
  try {
    return await triedConnection(target);
  } catch (error) {
    if (!(error instanceof ClassifiedError)) throw error;
    const told = messageOf(error).replaceAll('DATABASE_URL', 'MIRROR_COPY_TO');
    throw new Unusable(`the target: ${told}`, { cause: error });
  }
}

/** Makes this version's tables, empty. */
async function makeTables(trx: Db, folder: string): Promise<void> {
  await checkServer(trx);
  const all = await readMigrations(folder);
  const ownTable = await lockMigrations(trx);
  if ((await appliedMigrations(trx)).length > 0) {
    throw new CopyRefused(
      `the target has a mirror in schema "${trx.schema}" already: copy into an empty database, or remove that one: ` +
        `drop schema "${trx.schema}", "${trx.stateSchema}" cascade`,
    );
  }
  await throwIfNamesTaken(trx, folder, ownTable);
  for (const migration of all) await applyMigration(trx, migration);
  // What the migrations write comes from the source, too.
  for (const table of COPIED_TABLES) await trx.raw(`truncate ${copiedName(trx, table)}`);
}

async function copyTables(
  from: CopyConnection,
  to: CopyConnection,
  onBytes: CopyOptions['onBytes'],
): Promise<CopyReport> {
  const takenAt = (await databaseTime(from.db)).toISOString();
  await throwIfOtherVersion(from.db, to.db);
  const tables: Record<string, number> = {};
  const leftOut: string[] = [];
  for (const table of COPIED_TABLES) {
    const name = `${table.schema}.${table.name}`;
    const found = await copiedColumns(from.db, table);
    leftOut.push(...found.leftOut.map((column) => `${name}.${column}`));
    await addMissingColumns(to.db, table, found.columns);
    const columns = found.columns.map((column) => quotedName(column.name)).join(', ');
    tables[name] = await copyRows(
      from,
      to,
      {
        read: `copy ${copiedName(from.db, table)} (${columns}) to stdout`,
        // Nobody sees the table before the commit: its rows need no look at who wrote them, ever.
        write: `copy ${copiedName(to.db, table)} (${columns}) from stdin (freeze)`,
      },
      (bytes) => onBytes(name, bytes),
    );
    await continueIdentities(to.db, table, found.columns);
  }
  return { takenAt, rows: Object.values(tables).reduce((sum, rows) => sum + rows, 0), tables, leftOut };
}

/** @throws CopyRefused where a program of another version has changed the source: its tables may be others */
async function throwIfOtherVersion(source: Db, target: Db): Promise<void> {
  const named = async (db: Db): Promise<string[]> =>
    (await appliedMigrations(db)).map(({ name, checksum }) => `${name} ${checksum}`);
  const ours = new Set(await named(target));
  const others = (await named(source)).filter((each) => !ours.delete(each));
  if (others.length === 0 && ours.size === 0) return;
  const names = [...others, ...ours].map((each) => each.split(' ')[0]).join(', ');
  throw new CopyRefused(
    `the mirror is of another version than this program (${names}): copy it with that one`,
  );
}
