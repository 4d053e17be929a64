import { sql } from 'kysely';
import { type CollectionName, type Scope } from '../model/collections.ts';
import type { Executor } from './executor.ts';
import { inScope, named, own, tableOf, typeName } from './table.ts';

/** A row that the mirror holds as not deleted. */
export interface LiveRow {
  readonly key: string;
  /** `_change_id`. */
  readonly changeId: string;
}

/** Rows of one batch. */
const BATCH = 5_000;

/** The scope's live rows, batch by batch in the order of the primary key. */
export async function* liveRows(
  db: Executor,
  schema: string,
  scope: Scope,
): AsyncGenerator<readonly LiveRow[]> {
  const table = tableOf(schema, scope.collection);
  if (table.key === undefined) throw new RangeError(`${table.name} has no keys`);
  const column = sql`t.${sql.id(table.key.column)}`;
  let last: string | undefined;
  for (;;) {
    const beyond = last === undefined ? sql`` : sql`and ${column} > ${last}::${typeName(table.key)}`;
    const { rows } = await sql<{ key: string; change_id: string }>`
      select ${column}::text as key, t._change_id as change_id from ${named(table)} as t
      where ${inScope(table, scope)} and t._deleted_at is null ${beyond}
      order by ${column} limit ${BATCH}`.execute(db);
    if (rows.length > 0) yield rows.map(({ key, change_id: changeId }) => ({ key, changeId }));
    if (rows.length < BATCH) return;
    last = rows.at(-1)?.key;
  }
}

/** Change IDs of those of `keys` whose rows are live, by key. */
export async function liveAmong(
  db: Executor,
  schema: string,
  scope: Scope,
  keys: readonly string[],
): Promise<Map<string, string>> {
  const table = tableOf(schema, scope.collection);
  if (table.key === undefined) throw new RangeError(`${table.name} has no keys`);
  const column = sql.id(table.key.column);
  const live = new Map<string, string>();
  for (let start = 0; start < keys.length; start += BATCH) {
    const { rows } = await sql<{ key: string; change_id: string }>`
      select k.key::text as key, t._change_id as change_id
      from unnest(${keys.slice(start, start + BATCH)}::${typeName(table.key)}[]) as k (key)
      cross join lateral (
        select t._change_id, t._deleted_at from ${named(table)} as t
        where ${inScope(table, scope)} and t.${column} = k.key offset 0) as t
      where t._deleted_at is null`.execute(db);
    for (const { key, change_id: changeId } of rows) live.set(key, changeId);
  }
  return live;
}

/**
 * Those of `keys` whose rows are in doubt (design 4), by key: they wait for a second observation, or their deletion is
 * proven and not carried out yet.
 */
export async function doubtsAmong(
  db: Executor,
  schema: string,
  scope: Scope,
  keys: readonly string[],
): Promise<Map<string, 'waiting' | 'proven'>> {
  const doubts = new Map<string, 'waiting' | 'proven'>();
  for (let start = 0; start < keys.length; start += BATCH) {
    const { rows } = await sql<{ key: string; proven: boolean }>`
      select c.key, c.proven_at is not null as proven from ${own(schema, 'candidate')} as c
      where c._user_id = ${scope.userId}::bigint and c.collection = ${scope.collection} and c.parent = ${scope.parent}
        and c.key = any(${keys.slice(start, start + BATCH)}::text[])`.execute(db);
    for (const { key, proven } of rows) doubts.set(key, proven ? 'proven' : 'waiting');
  }
  return doubts;
}

/** The next parent after `last` (undefined: the first) that has live rows; undefined where none is left. */
export async function nextParent(
  db: Executor,
  schema: string,
  userId: string,
  collection: CollectionName,
  last: string | undefined,
): Promise<string | undefined> {
  const table = tableOf(schema, collection);
  if (table.parent === undefined) throw new RangeError(`${table.name} has no parent`);
  const column = sql`t.${sql.id(table.parent.column)}`;
  const beyond = last === undefined ? sql`` : sql`and ${column} > ${last}::${typeName(table.parent)}`;
  const { rows } = await sql<{ parent: string }>`
    select ${column}::text as parent from ${named(table)} as t
    where t._user_id = ${userId}::bigint and t._deleted_at is null ${beyond}
    order by ${column} limit 1`.execute(db);
  return rows[0]?.parent;
}
