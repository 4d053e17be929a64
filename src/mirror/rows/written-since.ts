import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { COLLECTION_NAMES, type CollectionName } from '../../model/collections.ts';
import { dataTable, tableOf } from '../table.ts';

/** Rows of a collection that were written after a change ID, and the change IDs that they have. */
export interface WrittenRows {
  readonly collection: CollectionName;
  readonly rows: number;
  /** Decimal digits of a bigint. */
  readonly first: string;
  readonly last: string;
}

/** What was written of an account after the change ID, the collections that have any. */
export async function writtenSince(db: Db, userId: string, changeId: string): Promise<WrittenRows[]> {
  const written: WrittenRows[] = [];
  for (const collection of COLLECTION_NAMES) {
    const { rows } = await sql<{ rows: string; first: string | null; last: string | null }>`
      select count(*) as rows, min(t._change_id) as first, max(t._change_id) as last
      from ${dataTable(tableOf(db.schema, collection))} as t
      where t._user_id = ${userId}::bigint and t._change_id > ${changeId}::bigint`.execute(db);
    const { rows: count = '0', first = null, last = null } = rows[0] ?? {};
    if (first !== null && last !== null) written.push({ collection, rows: Number(count), first, last });
  }
  return written;
}
