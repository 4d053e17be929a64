import type { Db } from '../../db/connection/db.ts';
import { type QueryResult, sql } from 'kysely';
import type { CollectionName, Scope } from '../../model/collections.ts';
import { dataTable, tableOf } from '../table.ts';

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

/** How far a collection's counters are from its rows: what is to be added to them. */
export interface Drift {
  readonly live: number;
  readonly deleted: number;
  /** Of live rows by scope, those that differ: keys of parents, '' where there are none. */
  readonly scopes: ReadonlyMap<string, number>;
}

/** Rows of one parent in a batch. */
interface Counted {
  readonly parent: string;
  readonly live: number;
  readonly rows: number;
  /** The last change ID of the whole batch. */
  readonly last: string;
}

/** Rows counted by one statement, so that it stays within its time bound. */
const BATCH = 50_000;

/**
 * Counts a collection's rows. Somebody may have changed rows by hand, which no counter knows. Rows and counters are
 * read in one snapshot: pages may commit meanwhile, since each moves both alike.
 * @returns undefined where the counters are right
 */
export async function driftOf(db: Db, userId: string, name: CollectionName): Promise<Drift | undefined> {
  const table = tableOf(db.schema, name);
  const parent = table.parent === undefined ? sql`''` : sql`t.${sql.id(table.parent.column)}::text`;
  return db.snapshot(async (trx) => {
    const live = new Map<string, number>();
    let deleted = 0;
    for (let last: string | undefined = '-1'; last !== undefined;) {
      const { rows }: QueryResult<Counted> = await trx.sql<Counted>`
        select x.parent, count(*) filter (where x.live)::float8 as live, count(*)::float8 as rows,
          max(max(x.id)) over () as last
        from (
          select ${parent} as parent, t._deleted_at is null as live, t._change_id as id from ${dataTable(table)} as t
          where t._user_id = ${userId}::bigint and t._change_id > ${last}::bigint
          order by t._change_id fetch first ${BATCH} rows with ties) as x
        group by x.parent`;
      for (const each of rows) {
        live.set(each.parent, (live.get(each.parent) ?? 0) + each.live);
        deleted += each.rows - each.live;
      }
      last = rows[0]?.last;
    }
    const counters = await trx.sql<{ parent: string | null; live: number; deleted: number }>`
      select null as parent, c.live_rows::float8 as live, c.deleted_rows::float8 as deleted
      from ${trx.table('_collections')} as c where c._user_id = ${userId}::bigint and c.collection = ${name}
      union all
      select s.parent, s.live_rows::float8, 0 from ${trx.stateTable('scope')} as s
      where s._user_id = ${userId}::bigint and s.collection = ${name}`;
    const scopes = new Map<string, number>();
    let all = { live: 0, deleted: 0 };
    for (const each of counters.rows) {
      if (each.parent === null) {
        const sum = live.values().reduce((total, rows) => total + rows, 0);
        all = { live: sum - each.live, deleted: deleted - each.deleted };
      } else if (each.live !== (live.get(each.parent) ?? 0)) {
        scopes.set(each.parent, (live.get(each.parent) ?? 0) - each.live);
      }
    }
    return all.live === 0 && all.deleted === 0 && scopes.size === 0 ? undefined : { ...all, scopes };
  });
}

/** Puts the counters right, in a fenced transaction. Call it once for each drift. */
export async function correctCounters(
  trx: Db,
  userId: string,
  name: CollectionName,
  { live, deleted, scopes }: Drift,
): Promise<void> {
  await trx.sql`
    update ${trx.table('_collections')} as c
    set live_rows = c.live_rows + ${live}::bigint, deleted_rows = c.deleted_rows + ${deleted}::bigint
    where c._user_id = ${userId}::bigint and c.collection = ${name}`;
  await trx.sql`
    update ${trx.stateTable('scope')} as s set live_rows = s.live_rows + x.drift
    from unnest(${[...scopes.keys()]}::text[], ${[...scopes.values()]}::bigint[]) as x (parent, drift)
    where s._user_id = ${userId}::bigint and s.collection = ${name} and s.parent = x.parent`;
}
