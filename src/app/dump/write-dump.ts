import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import type { ConnectionOptions } from '../../db/connection/pool.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import { type Db, onlyRow } from '../../db/connection/db.ts';
import { copyOut } from '../../db/copy/copy-out.ts';
import { type CopyingDatabase, openCopyingDatabase } from '../../db/copy/copying-database.ts';
import { DUMPED_TABLES } from '../../db/dump/dumped-tables.ts';
import { dumpedName, quoted, tableShape, type TableShape } from '../../db/dump/table-shape.ts';
import { appliedMigrations } from '../../db/migrations/run-migrations.ts';
import {
  type DumpEnd,
  type DumpHeader,
  type DumpReport,
  FORMAT,
  digestOf,
  leftOutOf,
  type TableEnd,
} from './dump-header.ts';

export interface DumpOptions {
  /** Past a transaction pooler, where there is such a way. */
  readonly connection: ConnectionOptions;
  readonly schema: string;
  /** Of this program. */
  readonly version: string;
  /** Is replaced where it is there, once the dump is whole. */
  readonly file: string;
  readonly signal: AbortSignal;
  readonly onRows: (table: string, rows: number) => void;
}

/** A dump that was written. */
export interface WrittenDump extends DumpReport {
  /** Of the file. */
  readonly bytes: number;
}

/**
 * Writes all that a mirror is to one file, from one snapshot, with a bounded amount of memory. It is written beside
 * its place (`<file>.partial`, for its owner alone) and moved there once it is on disk: a file of that name is whole.
 * @throws DatabaseUnavailable, Unusable; errors of the file system; the signal's reason
 */
export async function writeDump(options: DumpOptions): Promise<WrittenDump> {
  const { connection, schema, file, signal } = options;
  const partial = `${file}.partial`;
  const database = await openCopyingDatabase({ ...connection, schema }, signal);
  const target = new DumpTarget(partial);
  try {
    const report = await database.db.snapshot((trx) => writeAll(trx, database, target, options));
    await target.end();
    const { size } = await stat(partial);
    await rename(partial, file);
    return { ...report, bytes: size };
  } catch (error) {
    await target.discard();
    await rm(partial, { force: true });
    signal.throwIfAborted();
    throw error;
  } finally {
    await database.close();
  }
}

/** How values are written, whatever the database, the role or the server's version has as its default. */
const PLAIN_TEXT = `set local datestyle = 'ISO'; set local timezone = 'UTC'; set local intervalstyle = 'postgres';
  set local extra_float_digits = 3; set local bytea_output = 'hex'; set local search_path = pg_catalog`;

async function writeAll(
  trx: Db,
  database: CopyingDatabase,
  target: DumpTarget,
  { schema, version, onRows }: DumpOptions,
): Promise<DumpReport> {
  await trx.raw(PLAIN_TEXT);
  const header: DumpHeader = {
    program: version,
    server: onlyRow(await trx.sql<{ server: string }>`select current_setting('server_version') as server`)
      .server,
    takenAt: (await databaseTime(trx)).toISOString(),
    schema,
    migrations: await appliedMigrations(trx),
    tables: await shapes(trx),
  };
  await target.line(FORMAT);
  const text = JSON.stringify(header);
  await target.line(text);
  await target.line(digestOf(text));
  const counts = new Map<string, number>();
  let sum = 0;
  for (const table of header.tables) {
    const name = `${table.schema}.${table.name}`;
    await target.line({ table: name });
    const hash = createHash('sha256');
    const columns = table.columns.map((column) => quoted(column.name)).join(', ');
    const statement = `copy ${dumpedName(trx, table)} (${columns}) to stdout`;
    const rows = await copyOut(database.client(), statement, async (piece, soFar) => {
      hash.update(piece);
      onRows(name, soFar);
      await target.write(piece);
    });
    await target.line('\\.');
    await target.line({ rows, sha256: hash.digest('hex') } satisfies TableEnd);
    counts.set(name, rows);
    sum += rows;
  }
  await target.line({ end: true, rows: sum } satisfies DumpEnd);
  return {
    program: version,
    takenAt: header.takenAt,
    rows: sum,
    tables: Object.fromEntries(counts),
    leftOut: leftOutOf(header),
  };
}

async function shapes(trx: Db): Promise<TableShape[]> {
  const found: TableShape[] = [];
  for (const table of DUMPED_TABLES) found.push(await tableShape(trx, table));
  return found;
}

/** The file that is being written, compressed. */
class DumpTarget {
  readonly #compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  readonly #done: Promise<void>;

  constructor(partial: string) {
    // 0600: it contains what the tables do, for whoever may read them.
    this.#done = pipeline(this.#compress, createWriteStream(partial, { mode: 0o600, flush: true }));
    // Of a failure the next write is told.
    this.#done.catch(() => {});
  }

  line(content: string | object): Promise<void> {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    return this.write(Buffer.from(`${text}\n`));
  }

  async write(piece: Buffer): Promise<void> {
    if (this.#compress.destroyed) await this.#done;
    if (!this.#compress.write(piece)) await Promise.race([once(this.#compress, 'drain'), this.#done]);
  }

  /** Resolves when the file is on disk. */
  async end(): Promise<void> {
    this.#compress.end();
    await this.#done;
  }

  async discard(): Promise<void> {
    this.#compress.destroy();
    await this.#done.catch(() => {});
  }
}
