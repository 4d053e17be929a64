import type { Db } from '../postgres/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { collection, type CollectionName, type Scope } from '../model/collections.ts';
import { dataTable, tableOf, typeName } from './table.ts';

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

/** Rows counted by one statement, which has to stay within its time bound. */
const BATCH = 50_000;

/**
 * Counts a collection's rows, since changes by hand bypass the counters. Rows and counters are read in one snapshot.
 * Pages may commit meanwhile: they change both alike.
 * @returns differences to be added to the counters; `scopes` of live rows, by the parent's key ('' without one)
 */
export async function driftOf(db: Db, userId: string, name: CollectionName) {
  const table = tableOf(db.schema, name);
  const parentKey = table.parent === undefined ? sql`''` : sql`t.${sql.id(table.parent.column)}::text`;
  return db.snapshot(async (trx) => {
    const drift = { live: 0, deleted: 0, scopes: new Map<string, number>() };
    const counters = await trx.sql<{ parent: string | null; live: number; deleted: number }>`
      select null as parent, c.live_rows::float8 as live, c.deleted_rows::float8 as deleted
      from ${trx.table('_collections')} as c where c._user_id = ${userId}::bigint and c.collection = ${name}
      union all
      select s.parent, s.live_rows::float8, 0 from ${trx.stateTable('scope')} as s
      where s._user_id = ${userId}::bigint and s.collection = ${name}`;
    for (const { parent, live, deleted } of counters.rows) {
      if (parent === null) [drift.live, drift.deleted] = [-live, -deleted];
      else drift.scopes.set(parent, -live);
    }
    let last = '-1';
    for (let counted = BATCH; counted >= BATCH;) {
      const { rows } = await trx.sql<Record<'parent' | 'last', string> & Record<'live' | 'rows', number>>`
        select x.parent, count(*) filter (where x.live)::float8 as live, count(*)::float8 as rows,
          max(max(x.id)) over () as last
        from (
          select ${parentKey} as parent, t._deleted_at is null as live, t._change_id as id from ${dataTable(table)} as t
          where t._user_id = ${userId}::bigint and t._change_id > ${last}::bigint
          order by t._change_id fetch first ${BATCH} rows with ties) as x
        group by x.parent`;
      counted = 0;
      for (const { parent, last: end, live, rows: all } of rows) {
        last = end;
        counted += all;
        drift.live += live;
        drift.deleted += all - live;
        drift.scopes.set(parent, (drift.scopes.get(parent) ?? 0) + live);
      }
    }
    return drift;
  });
}

/** Condition: the account `a` has the live row whose key is `parent` of `alias`; true without parents. */
export function hasParent(db: Db, name: CollectionName, alias: string): RawBuilder<boolean> {
  const found = collection(name);
  if (found.kind === 'single' || found.parent === undefined) return sql`true`;
  const { parent } = found;
  return sql`exists (
    select 1 from ${db.table(parent.collection)} as p
    where p._user_id = a._user_id and p._deleted_at is null
      and p.${sql.id(parent.column)} = ${sql.id(alias, 'parent')}::${typeName({ column: parent.column, type: parent.keyType })})`;
}

/**
 * Corrects the counters in a fenced transaction, once for each drift. Rows without a parent get a scope like that of a
 * deleted parent.
 */
export async function correctCounters(
  trx: Db,
  userId: string,
  name: CollectionName,
  { live, deleted, scopes }: Awaited<ReturnType<typeof driftOf>>,
  now: Date,
): Promise<void> {
  const off = [...scopes].filter(([, rows]) => rows !== 0);
  await trx.sql`
    update ${trx.table('_collections')} as c
    set live_rows = c.live_rows + ${live}::bigint, deleted_rows = c.deleted_rows + ${deleted}::bigint
    where c._user_id = ${userId}::bigint and c.collection = ${name} and ${live !== 0 || deleted !== 0}`;
  const isThere = hasParent(trx, name, 'x');
  await trx.sql`
    insert into ${trx.stateTable('scope')} as s (_user_id, collection, parent, live_rows, gone_at)
    select a._user_id, ${name}, x.parent, x.drift, case when not ${isThere} then ${now}::timestamptz end
    from ${trx.stateTable('account')} as a
    cross join unnest(${off.map(([key]) => key)}::text[], ${off.map(([, rows]) => rows)}::bigint[]) as x (parent, drift)
    where a._user_id = ${userId}::bigint
    on conflict (_user_id, collection, parent) do update
    set live_rows = s.live_rows + excluded.live_rows, gone_at = excluded.gone_at`;
}
