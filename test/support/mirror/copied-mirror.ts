import { sql } from 'kysely';
import { copiedName, copyMirror } from '../../../src/operate/copy.ts';
import type { Db } from '../../../src/postgres/db.ts';
import { COPIED_TABLES } from '../../../src/postgres/citus.ts';

const PROGRAM = 'research-mirror tests';

/**
 * Copies the mirror at one URL to another.
 * @param how.onBytes called while rows are copied
 */
export function copyTo(
  source: { readonly url: string },
  target: { readonly url: string },
  how: { schema?: string; signal?: AbortSignal; onBytes?: (table: string) => void } = {},
) {
  return copyMirror({
    source: { url: source.url, program: PROGRAM },
    target: { url: target.url, program: PROGRAM },
    schema: 'mirror',
    signal: new AbortController().signal,
    onBytes: () => {},
    ...how,
  });
}

/** What a copy changes in its own tables, on purpose (markCopied). */
const CHANGED: Readonly<Record<string, readonly string[]>> = {
  'state.account': ['owner', 'token', 'recheck'],
  'state.installation': ['change_floor', 'fingerprint', 'nodes', 'held_at', 'held_why'],
  'mirror.submissions': ['state'],
};

/** All rows of each table that a copy has, as text with columns by name, in order; without what a copy changes. */
export async function rowsOf(db: Db): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const table of COPIED_TABLES) {
    const name = `${table.schema}.${table.name}`;
    const without = [...(table.without ?? []), ...(CHANGED[name] ?? [])];
    const { rows } = await db.sql<{ row: string }>`
      select (to_jsonb(t) - ${without}::text[])::text as row
      from ${sql.raw(copiedName(db, table))} as t order by (to_jsonb(t) - ${without}::text[])::text collate "C"`;
    found.set(
      name,
      rows.map(({ row }) => row),
    );
  }
  // It has a row of its own for the copy.
  found.delete('mirror.recoveries');
  return found;
}
