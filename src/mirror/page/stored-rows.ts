import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import type { Scope } from '../../model/collections.ts';
import type { StoredRow } from '../rows/classify.ts';
import { inScope, dataTable, ofScope, type Table, typeName } from '../table.ts';

export interface StoredRows {
  readonly rows: ReadonlyMap<string, StoredRow>;
  /** The list whose items these are is deleted: nothing may be written (docs/design/walks.md, "Lists"). */
  readonly gone: boolean;
  /** The scope has suspects: a page without proof may show them. */
  readonly hasSuspects: boolean;
  /** The scope has items in quarantine. */
  readonly inQuarantine: boolean;
  /** Rows of the account were forgotten on request: some of the page may be among them. */
  readonly hasForgotten: boolean;
}

interface KeyRow {
  /** Null in the row that stands for the scope. */
  readonly key: string | null;
  readonly hash: string | null;
  /** Of the row; in the scope's row, of the list whose items these are. */
  readonly deleted_at: Date | null;
  readonly has_suspects: boolean | null;
  readonly in_quarantine: boolean | null;
  readonly has_forgotten: boolean | null;
}

/**
 * What is stored under a page's keys, and of its scope, in one read (docs/design/writing-a-page.md, "Classify"): one
 * lookup in the primary key for each. With `= any(keys)` PostgreSQL reads all rows of the account by another index
 * while it has no statistics, that is during the whole first load.
 */
export async function readStoredRows(
  trx: Db,
  table: Table,
  scope: Scope,
  keys: readonly string[],
): Promise<StoredRows> {
  const stored =
    table.key === undefined
      ? sql`
        select '' as key, encode(t._hash, 'hex') as hash, t._deleted_at as deleted_at, null::boolean as has_suspects,
          null::boolean as in_quarantine, null::boolean as has_forgotten
        from ${dataTable(table)} as t where ${inScope(table, scope)}`
      : sql`
        select k.key::text as key, encode(t._hash, 'hex') as hash, t._deleted_at as deleted_at, null::boolean as has_suspects,
          null::boolean as in_quarantine, null::boolean as has_forgotten
        from unnest(${[...keys]}::${typeName(table.key)}[]) as k (key)
        cross join lateral (
          select t._hash, t._deleted_at from ${dataTable(table)} as t
          where ${inScope(table, scope)} and t.${sql.id(table.key.column)} = k.key offset 0) as t`;
  const { rows } = await trx.sql<KeyRow>`
    select null as key, null as hash, s.gone_at as deleted_at,
      exists (select from ${trx.stateTable('candidate')} as c where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)}) as has_suspects,
      exists (select from ${trx.table('quarantine')} as q
              where q._user_id = ${scope.userId}::bigint and q.collection = ${scope.collection}
                and q.parent = ${scope.parent}) as in_quarantine,
      exists (select from ${trx.table('forgotten')} as f where f._user_id = ${scope.userId}::bigint) as has_forgotten
    from ${trx.stateTable('scope')} as s
    where s._user_id = ${scope.userId}::bigint and s.collection = ${scope.collection} and s.parent = ${scope.parent}
    union all ${stored}`;
  const found = new Map<string, StoredRow>();
  let gone = false;
  let hasSuspects = false;
  let inQuarantine = false;
  let hasForgotten = false;
  for (const { key, hash, deleted_at: deletedAt, has_suspects: suspects, ...row } of rows) {
    if (key === null || hash === null) {
      gone = deletedAt !== null;
      hasSuspects = suspects === true;
      inQuarantine = row.in_quarantine === true;
      hasForgotten = row.has_forgotten === true;
    } else {
      found.set(key, { hash, deletedAt: deletedAt ?? undefined });
    }
  }
  return { rows: found, gone, hasSuspects, inQuarantine, hasForgotten };
}
