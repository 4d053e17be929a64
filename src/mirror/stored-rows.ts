import { sql } from 'kysely';
import { collection, type Scope } from '../model/collections.ts';
import type { StoredRow } from './classify.ts';
import type { Executor } from './executor.ts';
import { inScope, named, type Table, tableOf, typeName } from './table.ts';

export interface StoredRows {
  readonly rows: ReadonlyMap<string, StoredRow>;
  /** The list whose items these are is deleted: nothing may be written (design 3, "Lists"). */
  readonly parentDeleted: boolean;
}

interface KeyRow {
  /** Null in the row that stands for the parent. */
  readonly key: string | null;
  readonly hash: string | null;
  readonly deleted: boolean;
}

/**
 * What is stored under a page's keys, in one read (design 7, step 2): one look into the primary key for each.
 * With `= any(keys)` PostgreSQL reads all rows of the account by another index while it has no statistics, that is
 * through the whole first load.
 */
export async function readStoredRows(
  trx: Executor,
  table: Table,
  scope: Scope,
  keys: readonly string[],
): Promise<StoredRows> {
  const own =
    table.key === undefined
      ? sql<KeyRow>`
        select '' as key, encode(t._hash, 'hex') as hash, t._deleted_at is not null as deleted
        from ${named(table)} as t where ${inScope(table, scope)}`
      : sql<KeyRow>`
        select k.key::text as key, encode(t._hash, 'hex') as hash, t._deleted_at is not null as deleted
        from unnest(${[...keys]}::${typeName(table.key)}[]) as k (key)
        cross join lateral (
          select t._hash, t._deleted_at from ${named(table)} as t
          where ${inScope(table, scope)} and t.${sql.id(table.key.column)} = k.key offset 0) as t`;
  const parent = parentTable(table);
  const query =
    parent?.key === undefined
      ? own
      : sql<KeyRow>`
        select null as key, null as hash, p._deleted_at is not null as deleted
        from ${named(parent)} as p
        where p._user_id = ${scope.userId}::bigint
          and p.${sql.id(parent.key.column)} = ${scope.parent}::${typeName(parent.key)}
        union all ${own}`;
  const { rows } = await query.execute(trx);
  const stored = new Map<string, StoredRow>();
  let parentDeleted = false;
  for (const { key, hash, deleted } of rows) {
    if (key === null || hash === null) parentDeleted = deleted;
    else stored.set(key, { hash, deleted });
  }
  return { rows: stored, parentDeleted };
}

function parentTable(table: Table): Table | undefined {
  const entry = collection(table.name);
  if (entry.kind === 'single' || entry.parent === undefined) return undefined;
  return tableOf(table.schema, entry.parent.collection);
}
