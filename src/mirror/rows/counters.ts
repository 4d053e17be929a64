import type { Db } from '../../db/connection/db.ts';
import type { Scope } from '../../model/collections.ts';

/** Adds to the collection's counters of live and deleted rows, which `freshness` shows. */
export async function countRows(trx: Db, scope: Scope, live: number, deleted: number): Promise<void> {
  await trx.sql`
    insert into ${trx.table('_collections')} as c (_user_id, collection, live_rows, deleted_rows)
    values (${scope.userId}::bigint, ${scope.collection}, ${live}::bigint, ${deleted}::bigint)
    on conflict (_user_id, collection) do update
    set live_rows = c.live_rows + excluded.live_rows, deleted_rows = c.deleted_rows + excluded.deleted_rows`;
}

/** Counts values that did not fit their column, by field; `data_quality` and `columns` show them. */
export async function countConflicts(
  trx: Db,
  scope: Scope,
  conflicts: ReadonlyMap<string, number>,
  at: Date,
): Promise<void> {
  if (conflicts.size === 0) return;
  await trx.sql`
    insert into ${trx.table('_conflicts')} as c (_user_id, collection, field, conflicts, last_at)
    select ${scope.userId}::bigint, ${scope.collection}, x.field, x.conflicts, ${at}::timestamptz
    from unnest(${[...conflicts.keys()]}::text[], ${[...conflicts.values()]}::bigint[]) as x (field, conflicts)
    on conflict (_user_id, collection, field) do update
    set conflicts = c.conflicts + excluded.conflicts, last_at = excluded.last_at`;
}
