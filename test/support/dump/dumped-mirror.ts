import { open } from 'node:fs/promises';
import { sql } from 'kysely';
import { openDump, restoreDump } from '../../../src/app/dump/restore-dump.ts';
import { writeDump, type WrittenDump } from '../../../src/app/dump/write-dump.ts';
import type { DumpReport } from '../../../src/app/dump/dump-header.ts';
import { programVersion } from '../../../src/app/program-files.ts';
import type { Db } from '../../../src/db/connection/db.ts';
import { DUMPED_TABLES, type DumpedTable } from '../../../src/db/dump/dumped-tables.ts';
import { dumpedName } from '../../../src/db/dump/table-shape.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { MIGRATIONS } from '../databases/migrated-database.ts';

const PROGRAM = 'research-mirror tests';

interface Place {
  readonly url: string;
  readonly schema?: string;
  readonly signal?: AbortSignal;
}

export function dumpTo(file: string, { url, schema = 'mirror', signal }: Place): Promise<WrittenDump> {
  return writeDump({
    connection: { url, program: PROGRAM },
    schema,
    version: programVersion(),
    file,
    signal: signal ?? new AbortController().signal,
    onRows: () => {},
  });
}

/** @param onBytes called while rows are loaded */
export async function restoreFrom(
  file: string,
  { url, schema = 'mirror', signal }: Place,
  onBytes: (table: string) => void = () => {},
): Promise<DumpReport> {
  const handle = await open(file);
  try {
    return await restoreDump(await openDump(handle, MIGRATIONS), {
      connection: { url, program: PROGRAM },
      schema,
      version: programVersion(),
      folder: MIGRATIONS,
      clock: systemClock,
      signal: signal ?? new AbortController().signal,
      onBytes,
    });
  } finally {
    await handle.close();
  }
}

/** What a restore changes in its own tables, on purpose (markRestored). */
const CHANGED: Readonly<Record<string, readonly string[]>> = {
  'state.account': ['token', 'recheck'],
  'state.installation': ['change_floor'],
  'mirror.submissions': ['state'],
};

/** All rows of each table that a dump has, as text with columns by name, in order; without what a restore changes. */
export async function rowsOf(db: Db): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const table of DUMPED_TABLES) {
    const name = `${table.schema}.${table.name}`;
    const without = [...Object.keys(table.without ?? {}), ...(CHANGED[name] ?? [])];
    found.set(name, await rowsOfTable(db, table, without));
  }
  // It has a row of its own for the restore.
  found.delete('mirror.recoveries');
  return found;
}

async function rowsOfTable(db: Db, table: DumpedTable, without: readonly string[]): Promise<string[]> {
  const { rows } = await db.sql<{ row: string }>`
    select (to_jsonb(t) - ${[...without]}::text[])::text as row
    from ${sql.raw(dumpedName(db, table))} as t order by (to_jsonb(t) - ${[...without]}::text[])::text collate "C"`;
  return rows.map(({ row }) => row);
}
