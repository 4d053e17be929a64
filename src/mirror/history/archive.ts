import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import type { Scope } from '../../model/collections.ts';
import { dataTable, hasKey, inParent, keyTypeName, relation, type Table } from '../table.ts';

/**
 * Copies rows into `<table>_history` as they are. Call it right before the statement that writes or removes them, as
 * a statement of its own (docs/design/sql.md, "Rule 3"). The primary key contains `_change_id`: no version is there
 * twice.
 *
 * A version is valid from its `_changed_at` up to the next one's, half-open. The database's clock may step back. So
 * `_valid_to` is never before `_valid_from`, and whoever supersedes a version by a row that stays sets `_changed_at =
 * greatest(at, _changed_at)`: versions never overlap.
 * @param keys of live rows, each once; `['']` for an endpoint that answers one object
 * @param at the database's clock in this transaction: `_valid_to`
 * @param columns what is copied: `historyColumns`, or `archived` of a registry that is not stale
 * @param changeIds one for each key, in place of the archived version's `_change_id`: given where the row itself is removed
 *   (MIRROR_DELETES=hard), so that a reader of the watermark sees the deletion in `_history`
 * @throws Error when not exactly the rows of `keys` are there, live
 */
export async function archiveRows(
  trx: Db,
  table: Table,
  scope: Scope,
  keys: readonly string[],
  at: Date,
  op: 'update' | 'delete',
  columns: readonly string[],
  changeIds?: readonly bigint[],
): Promise<void> {
  if (keys.length === 0) return;
  const names = columns.map((name) => sql.id(name));
  const values = columns.map((name) =>
    name === '_change_id' && changeIds !== undefined ? sql`k.change_id` : sql`t.${sql.id(name)}`,
  );
  const ids = changeIds?.map(String) ?? keys.map(() => null);
  const result = await trx.sql`
    insert into ${dataTable(table, '_history')} (${sql.join(names)}, _valid_from, _valid_to, _op)
    select ${sql.join(values)}, t._changed_at, greatest(${at}::timestamptz, t._changed_at), ${op}
    from unnest(${[...keys]}::${keyTypeName(table)}[], ${ids}::bigint[]) as k (key, change_id)
    cross join lateral (
      select t.* from ${dataTable(table)} as t
      where t._user_id = ${scope.userId}::bigint and ${inParent(table, scope)} and ${hasKey(table)}
        and t._deleted_at is null offset 0) as t`;
  const archived = Number(result.numAffectedRows ?? 0n);
  if (archived !== keys.length) {
    throw new Error(`${table.name}: ${keys.length} versions were to be archived, ${archived} were there`);
  }
}

/**
 * Columns that the table and its history have in common, by name and type: what is copied. A column that somebody
 * dropped, changed or made in one of the two alone is left out. In a transaction that has read the table they stay
 * the same: columns are added to both under the table's lock.
 */
export async function historyColumns(db: Db, table: Table): Promise<string[]> {
  const { rows } = await db.sql<{ name: string }>`
    select a.attname as name from pg_attribute a
      join pg_attribute h on h.attrelid = ${relation(table, '_history')} and h.attname = a.attname
        and h.atttypid = a.atttypid and h.atttypmod = a.atttypmod
    where a.attrelid = ${relation(table)} and a.attnum > 0 and not a.attisdropped
      and h.attnum > 0 and not h.attisdropped and h.attgenerated = ''
    order by a.attnum`;
  return rows.map(({ name }) => name);
}
