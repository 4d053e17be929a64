import type { Db } from '../../db/connection/db.ts';
import { COLLECTION_NAMES, type CollectionName } from '../../model/collections.ts';
import { dataTable, tableOf } from '../table.ts';

/** How many rows of a collection were written after a change ID, and their first and last one. */
export interface WrittenRows {
  readonly collection: CollectionName;
  readonly rows: number;
  /** Decimal digits of a bigint. */
  readonly first: string;
  readonly last: string;
}

/** What was written of an account after the change ID; collections without any are left out. */
export async function writtenSince(db: Db, userId: string, changeId: string): Promise<WrittenRows[]> {
  const written: WrittenRows[] = [];
  for (const collection of COLLECTION_NAMES) {
    const { rows } = await db.sql<{ rows: string; first: string | null; last: string | null }>`
      select count(*) as rows, min(t._change_id) as first, max(t._change_id) as last
      from ${dataTable(tableOf(db.schema, collection))} as t
      where t._user_id = ${userId}::bigint and t._change_id > ${changeId}::bigint`;
    const { rows: count = '0', first = null, last = null } = rows[0] ?? {};
    if (first !== null && last !== null) written.push({ collection, rows: Number(count), first, last });
  }
  return written;
}
