import type { Db } from '../../db/connection/db.ts';
import type { Scope } from '../../model/collections.ts';
import type { StoredRow } from '../rows/classify.ts';
import { dataTable, hasKey, inScope, keyTypeName, ofScope, type Table } from '../table.ts';

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

interface KeyRow extends Readonly<Record<'hasSuspects' | 'inQuarantine' | 'hasForgotten', boolean | null>> {
  /** Null in the row that stands for the scope. */
  readonly key: string | null;
  readonly hash: string | null;
  /** Of the row; in the scope's row, of the list whose items these are. */
  readonly deletedAt: Date | null;
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
  const { rows } = await trx.sql<KeyRow>`
    select null as key, null as hash, s.gone_at as "deletedAt",
      exists (select from ${trx.stateTable('candidate')} as c where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)}) as "hasSuspects",
      exists (select from ${trx.table('quarantine')} as q
              where q._user_id = ${scope.userId}::bigint and q.collection = ${scope.collection}
                and q.parent = ${scope.parent}) as "inQuarantine",
      exists (select from ${trx.table('forgotten')} as f where f._user_id = ${scope.userId}::bigint) as "hasForgotten"
    from ${trx.stateTable('scope')} as s
    where s._user_id = ${scope.userId}::bigint and s.collection = ${scope.collection} and s.parent = ${scope.parent}
    union all
    select k.key::text, encode(t._hash, 'hex'), t._deleted_at, null, null, null
    from unnest(${table.key === undefined ? [''] : [...keys]}::${keyTypeName(table)}[]) as k (key)
    cross join lateral (
      select t._hash, t._deleted_at from ${dataTable(table)} as t
      where ${inScope(table, scope)} and ${hasKey(table)} offset 0) as t`;
  const stands = rows.find(({ key }) => key === null);
  const found = rows.flatMap(({ key, hash, deletedAt }): [string, StoredRow][] =>
    key === null || hash === null ? [] : [[key, { hash, deletedAt: deletedAt ?? undefined }]],
  );
  return {
    rows: new Map(found),
    gone: (stands?.deletedAt ?? null) !== null,
    hasSuspects: stands?.hasSuspects === true,
    inQuarantine: stands?.inQuarantine === true,
    hasForgotten: stands?.hasForgotten === true,
  };
}
