import { hash } from 'node:crypto';
import type { AppliedMigration, Migration } from '../../db/migrations/migrations.ts';
import type { TableShape } from '../../db/dump/table-shape.ts';

/**
 * A dump is a zstd stream of lines: this one, the header as JSON, its SHA-256, and for each table its name as JSON, its
 * rows in COPY's text format, `\.`, and a `TableEnd`; behind the last table `DumpEnd`. `zstd -dc` shows it.
 */
export const FORMAT = 'research-mirror dump 1';

export interface DumpHeader {
  /** Version of the program that wrote it. */
  readonly program: string;
  /** PostgreSQL's, from which it was read. */
  readonly server: string;
  /** When its snapshot was taken, by the database's clock; ISO 8601. */
  readonly takenAt: string;
  /** MIRROR_SCHEMA; it may be restored into another. */
  readonly schema: string;
  readonly migrations: readonly AppliedMigration[];
  readonly tables: readonly TableShape[];
}

export interface TableEnd {
  readonly rows: number;
  /** Of the bytes of its rows, hexadecimal. */
  readonly sha256: string;
}

export interface DumpEnd {
  readonly end: true;
  readonly rows: number;
}

/** What was dumped or restored. */
export interface DumpReport {
  readonly program: string;
  readonly takenAt: string;
  readonly rows: number;
  /** Rows by table, `mirror.lists` or `state.scope`. */
  readonly tables: Readonly<Record<string, number>>;
  /** Columns of somebody's own that are not in it: `mirror.lists.my_column`. */
  readonly leftOut: readonly string[];
}

/** The file can't be restored by this program, or the place has a mirror: nothing was touched. */
export class RestoreRefused extends Error {
  override readonly name = 'RestoreRefused';
}

/** The rest of a header's migrations, which the dumped mirror had not. @throws RestoreRefused for a newer dump */
export function migrationsAround(
  { migrations, program }: DumpHeader,
  all: readonly Migration[],
): { readonly before: readonly Migration[]; readonly after: readonly Migration[] } {
  const known = new Map(all.map((migration) => [migration.name, migration]));
  const unknown = migrations.filter(({ name }) => !known.has(name)).map(({ name }) => name);
  if (unknown.length > 0) {
    throw new RestoreRefused(
      `it is newer than this program (research-mirror ${program} wrote it, with ${unknown.join(', ')}): restore it with that version`,
    );
  }
  const other = migrations.find(({ name, checksum }) => known.get(name)?.checksum !== checksum);
  if (other !== undefined) {
    throw new RestoreRefused(
      `its migration ${other.name} has another text than this program's: restore it with research-mirror ${program}`,
    );
  }
  const had = new Set(migrations.map(({ name }) => name));
  return { before: all.filter(({ name }) => had.has(name)), after: all.filter(({ name }) => !had.has(name)) };
}

/** SHA-256 of the header's line, hexadecimal: what it names is made before the stream's own checksum is read. */
export function digestOf(text: string): string {
  return hash('sha256', text, 'hex');
}

export function leftOutOf({ tables }: DumpHeader): string[] {
  return tables.flatMap(({ schema, name, leftOut }) =>
    leftOut.map((column) => `${schema}.${name}.${column}`),
  );
}
