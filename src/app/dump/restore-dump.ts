import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { sql } from 'kysely';
import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import type { ConnectionOptions } from '../../db/connection/pool.ts';
import type { Db } from '../../db/connection/db.ts';
import { quotedText } from '../../db/connection/quoted.ts';
import { sqlState } from '../../db/connection/sql-state.ts';
import { endpointHost } from '../../db/installation/fingerprint.ts';
import { markRestored } from '../../db/installation/restored-installation.ts';
import { copyIn } from '../../db/copy/copy-in.ts';
import { type CopyingDatabase, openCopyingDatabase } from '../../db/copy/copying-database.ts';
import { DUMPED_TABLES } from '../../db/dump/dumped-tables.ts';
import {
  continueIdentities,
  dumpedName,
  missingColumns,
  quoted,
  type TableShape,
} from '../../db/dump/table-shape.ts';
import { type Migration, readMigrations } from '../../db/migrations/migrations.ts';
import { throwIfNamesTaken } from '../../db/migrations/names-taken.ts';
import {
  appliedMigrations,
  applyMigration,
  checkServer,
  lockMigrations,
  migrate,
} from '../../db/migrations/run-migrations.ts';
import { followRestoredColumns } from '../../mirror/columns/restore-columns.ts';
import {
  type DumpEnd,
  type DumpHeader,
  type DumpReport,
  digestOf,
  FORMAT,
  leftOutOf,
  migrationsAround,
  RestoreRefused,
  type TableEnd,
} from './dump-header.ts';
import { DumpReader } from './dump-reader.ts';

export interface RestoreOptions {
  /** Past a transaction pooler, where there is such a way. */
  readonly connection: ConnectionOptions;
  readonly schema: string;
  /** Of this program. */
  readonly version: string;
  /** Folder of the numbered migrations. */
  readonly folder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** @param bytes of the file that were read so far */
  readonly onBytes: (table: string, bytes: number) => void;
}

/** A dump whose beginning was read: whether this program can restore it is known before a database is reached. */
export interface OpenDump {
  readonly header: DumpHeader;
  readonly reader: DumpReader;
  /** Migrations that the dumped mirror had, and those that this program has besides. */
  readonly before: readonly Migration[];
  readonly after: readonly Migration[];
}

/** @throws RestoreRefused: no dump, a damaged one, a newer one */
export async function openDump(file: FileHandle, folder: string): Promise<OpenDump> {
  const reader = new DumpReader(file);
  const format = await reader.line();
  if (format !== FORMAT) {
    throw new RestoreRefused(
      /^research-mirror dump \d+$/.test(format)
        ? `its format (${JSON.stringify(format)}) is newer than this program: restore it with a newer version`
        : 'it is no dump of research-mirror',
    );
  }
  const text = await reader.line();
  if ((await reader.line()) !== digestOf(text))
    throw new RestoreRefused('it is damaged: its header is another');
  const header = JSON.parse(text) as DumpHeader;
  return { header, reader, ...migrationsAround(header, await readMigrations(folder)) };
}

/**
 * Makes the mirror of a dump in a place that has none, and brings it to this version, in one transaction: a restore
 * that ends early, however it ends, leaves the place as it was. What is restored is on hold (markRestored).
 * @throws RestoreRefused; DatabaseUnavailable, Unusable; the signal's reason
 */
export async function restoreDump(dump: OpenDump, options: RestoreOptions): Promise<DumpReport> {
  const { connection, schema, signal } = options;
  const database = await openCopyingDatabase({ ...connection, schema }, signal);
  try {
    await checkServer(database.db);
    const host = endpointHost(connection.url, connection.variables);
    const report = await database.db.transaction(async (trx) => {
      await makeTables(trx, dump, options);
      const counted = await loadTables(trx, database, dump, options);
      for (const migration of dump.after) await applyMigration(trx, migration);
      // What follows columns is made in this version's words, which only its schema knows.
      await followRestoredColumns(trx);
      await markRestored(trx, host);
      return counted;
    });
    // Roles, which the transaction of a migration does not make.
    await migrate({ ...options, db: database.db });
    return report;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    await database.close();
  }
}

/** Makes the dumped mirror's tables. */
async function makeTables(
  trx: Db,
  { before, header }: OpenDump,
  { schema, folder }: RestoreOptions,
): Promise<void> {
  const ownTable = await lockMigrations(trx);
  if ((await appliedMigrations(trx)).length > 0) {
    throw new RestoreRefused(
      `there is a mirror in schema "${schema}" already: restore into an empty database, set MIRROR_SCHEMA or MIRROR_DATA_DIR ` +
        `to a new one, or remove this one: drop schema "${schema}", "${schema}_sync" cascade`,
    );
  }
  await throwIfNamesTaken(trx, folder, ownTable);
  for (const migration of before) await applyMigration(trx, migration);
  for (const table of header.tables) {
    if (!DUMPED_TABLES.some(({ schema: place, name }) => place === table.schema && name === table.name)) {
      throw new RestoreRefused(`it is damaged: it names a table ${JSON.stringify(table.name)}`);
    }
    await addMissing(trx, table);
    // What the migrations wrote is in the dump, too.
    await trx.sql`truncate ${sql.raw(dumpedName(trx, table))}`;
  }
}

/** Built-in types, also with a length or as an array: what is read from the file becomes SQL. */
const TYPE = /^[a-z][a-z0-9_ ]*(?:\(\d+(?:,\d+)?\))?[a-z ]*(?:\[\])*$/;

/** Columns that were made for fields, or by hand, in the dumped order. */
async function addMissing(trx: Db, table: TableShape): Promise<void> {
  const names = table.columns.map(({ name }) => name);
  const missing = new Set(await missingColumns(trx, table, names));
  const added = table.columns.filter(({ name }) => missing.has(name));
  if (added.length === 0) return;
  const wrong = added.find(({ type }) => !TYPE.test(type));
  if (wrong !== undefined) throw new RestoreRefused(`it is damaged: it has a column of type ${wrong.type}`);
  const target = dumpedName(trx, table);
  await trx.raw(
    `alter table ${target} ${added.map(({ name, type }) => `add column ${quoted(name)} ${type}`).join(', ')}`,
  );
  for (const { name, comment } of added) {
    if (comment !== null) {
      await trx.sql`comment on column ${sql.raw(target)}.${sql.id(name)} is ${sql.raw(quotedText(comment))}`;
    }
  }
}

async function loadTables(
  trx: Db,
  database: CopyingDatabase,
  { header, reader }: OpenDump,
  { onBytes }: RestoreOptions,
): Promise<DumpReport> {
  const counts = new Map<string, number>();
  let sum = 0;
  for (const table of header.tables) {
    const name = `${table.schema}.${table.name}`;
    const begun = await reader.json<{ table?: unknown }>();
    if (begun.table !== name) throw new RestoreRefused(`it is damaged: ${name} is missing`);
    const hash = createHash('sha256');
    const columns = table.columns.map((column) => quoted(column.name)).join(', ');
    // Nobody sees the table before the commit: its rows need no look at who wrote them, ever.
    const text = `copy ${dumpedName(trx, table)} (${columns}) from stdin (freeze)`;
    const pieces = watched(reader, (piece) => {
      hash.update(piece);
      onBytes(name, reader.bytesRead);
    });
    const rows = await copyIn(database.client(), text, pieces).catch((error: unknown) => {
      // A file that was changed, not cut, may only be noticed by who reads its values.
      if (!/^2[23]/.test(sqlState(error) ?? '')) throw error;
      throw new RestoreRefused(
        `it is damaged: Postgres can’t take the rows of ${name}: ${messageOf(error)}`,
        {
          cause: error,
        },
      );
    });
    const end = await reader.json<TableEnd>();
    if (end.rows !== rows || end.sha256 !== hash.digest('hex')) {
      throw new RestoreRefused(`it is damaged: the rows of ${name} are not those that were written`);
    }
    await continueIdentities(trx, table);
    await trx.raw(`analyze ${dumpedName(trx, table)}`);
    counts.set(name, rows);
    sum += rows;
  }
  const end = await reader.json<DumpEnd>();
  if (!end.end || end.rows !== sum) throw new RestoreRefused('it is damaged: its end is not its own');
  return {
    program: header.program,
    takenAt: header.takenAt,
    rows: sum,
    tables: Object.fromEntries(counts),
    leftOut: leftOutOf(header),
  };
}

async function* watched(reader: DumpReader, onPiece: (piece: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const piece of reader.rows()) {
    onPiece(piece);
    yield piece;
  }
}
