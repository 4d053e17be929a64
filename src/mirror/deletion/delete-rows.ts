import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import type { Scope } from '../../model/collections.ts';
import type { Operator } from '../../db/roles/operator-log.ts';
import { takeChangeIds } from '../../db/ownership/change-ids.ts';
import { countRows } from '../rows/counters.ts';
import { addDeletions } from './brake.ts';
import { archiveRows, historyColumns } from '../history/archive.ts';
import { behind, keyColumn, placeOrder, dataTable, hasKey, inScope, keyTypeName, tableOf } from '../table.ts';
import type { ChangedTable } from '../page-write.ts';
import { releaseItems } from '../quarantine/update-quarantine.ts';
import { saveScope } from '../scope/scope-row.ts';
import { forgetUnfinished } from '../rows/unfinished.ts';

/** Rows deleted by one statement at most, so that it stays within its time bound. */
export const MAX_ROWS = 2_000;
/** Bytes of their items at most: what is archived is written. */
const MAX_BYTES = 32 * 1024 * 1024;

/** How rows are deleted. */
export interface Deletion {
  /** Marked (`_deleted_at`), or removed. */
  readonly hard: boolean;
  /** The last version is kept. */
  readonly history: boolean;
  /** Who has accepted it: it does not count against the next ones. */
  readonly accepted: Operator | false;
  /** The database's clock in this transaction. */
  readonly at: Date;
}

/** Postgres deleted fewer rows than it was told to. */
export class NotDeleted extends Error {}

/** A live row that is to be deleted. */
export interface RowToDelete {
  readonly key: string;
  /** Size of its item, as stored. */
  readonly bytes: number;
}

/** Which of these keys are live, in key order. */
export async function rowsToDelete(trx: Db, scope: Scope, keys: readonly string[]): Promise<RowToDelete[]> {
  const table = tableOf(trx.schema, scope.collection);
  const { rows } = await trx.sql<RowToDelete>`
    select ${keyColumn(table)}::text as key, t.bytes
    from unnest(${[...keys]}::${keyTypeName(table)}[]) as k (key)
    cross join lateral (
      select ${keyColumn(table)}, pg_column_size(t._raw) as bytes from ${dataTable(table)} as t
      where ${inScope(table, scope)} and ${keyColumn(table)} = k.key and t._deleted_at is null offset 0) as t
    order by ${placeOrder(table, 'up')}`;
  return rows;
}

/** The live rows behind `after` in key order (undefined: from the first one), as many as one statement may delete. */
export async function rowsToDeleteAfter(trx: Db, scope: Scope, after?: string): Promise<RowToDelete[]> {
  const table = tableOf(trx.schema, scope.collection);
  const { rows } = await trx.sql<RowToDelete>`
    select ${keyColumn(table)}::text as key, pg_column_size(t._raw) as bytes from ${dataTable(table)} as t
    where ${inScope(table, scope)} and ${behind(table, after)} and t._deleted_at is null
    order by ${placeOrder(table, 'up')} limit ${MAX_ROWS}`;
  return rows;
}

/** The first rows that one statement may delete: one at least. */
export function fitting(rows: readonly RowToDelete[]): readonly RowToDelete[] {
  let bytes = 0;
  const end = rows.findIndex((row) => (bytes += row.bytes) > MAX_BYTES);
  return end === -1 ? rows.slice(0, MAX_ROWS) : rows.slice(0, Math.min(MAX_ROWS, Math.max(1, end)));
}

/**
 * Deletes live rows of a scope in a fenced transaction, with what is stored about them elsewhere: counters,
 * unfinished rows, quarantined items. Their last version is archived first.
 * @returns what a reader of the watermark sees; undefined where there was nothing to delete
 */
export async function deleteRows(
  trx: Db,
  scope: Scope,
  rows: readonly RowToDelete[],
  { hard, history, accepted, at }: Deletion,
): Promise<ChangedTable | undefined> {
  if (rows.length === 0) return undefined;
  const table = tableOf(trx.schema, scope.collection);
  const keys = rows.map(({ key }) => key);
  const before = await takeChangeIds(trx, scope.userId, keys.length);
  const changeIds = keys.map((_, index) => before + BigInt(index) + 1n);
  if (history) {
    const columns = await historyColumns(trx, table);
    await archiveRows(trx, table, scope, keys, at, 'delete', columns, hard ? changeIds : undefined);
  }
  // The database's clock may step back: a version ends no earlier than it began (archive.ts).
  const moment = sql`greatest(${at}::timestamptz, t._changed_at)`;
  // Each is looked up by its key: joined, the rows of the scope may be compared with all keys, one by one.
  const found = sql`(
    select k.change_id, t.place
    from unnest(${keys}::${keyTypeName(table)}[], ${changeIds.map(String)}::bigint[]) as k (key, change_id)
    cross join lateral (
      select t.ctid as place from ${dataTable(table)} as t
      where ${inScope(table, scope)} and ${hasKey(table)} and t._deleted_at is null offset 0) as t) as x`;
  const { numAffectedRows } = hard
    ? await trx.sql`
        delete from ${dataTable(table)} as t using ${found}
        where t._user_id = ${scope.userId}::bigint and t.ctid = x.place`
    : await trx.sql`
        update ${dataTable(table)} as t
        set _deleted_at = ${moment}, _changed_at = ${moment}, _change_id = x.change_id from ${found}
        where t._user_id = ${scope.userId}::bigint and t.ctid = x.place`;
  const deleted = Number(numAffectedRows ?? 0n);
  if (deleted !== keys.length) {
    throw new NotDeleted(
      `${table.name}: ${keys.length} rows were to be deleted, ${deleted} were: a trigger or a rule keeps the others`,
    );
  }
  await countRows(trx, scope, -deleted, hard ? 0 : deleted);
  await saveScope(trx, scope, {}, undefined, -deleted, at);
  if (accepted === false) await addDeletions(trx, scope, at, deleted);
  await forgetUnfinished(trx, scope, keys);
  await releaseItems(trx, scope, keys);
  return { table: table.name, userId: scope.userId, changeId: String(changeIds.at(-1)) };
}
