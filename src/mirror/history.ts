import { sql } from 'kysely';
import { COLLECTION_NAMES, type CollectionName, type Scope } from '../model/collections.ts';
import type { Db } from '../postgres/db.ts';
import { type Fence, fenced } from '../postgres/fenced.ts';
import { dataTable, hasKey, inParent, keyTypeName, relation, type Table, tableOf } from './table.ts';

/**
 * Copies rows into `<table>_history`, right before the statement that writes or removes them and as a statement of its
 * own (docs/design/sql.md, "Rule 3"). The primary key includes `_change_id`, so no version is there twice.
 *
 * A version is valid from its `_changed_at` up to the next one's, half-open. The database's clock may step back, so
 * `_valid_to` is never before `_valid_from`, and a superseding row has `_changed_at = greatest(at, _changed_at)`:
 * versions never overlap.
 * @param keys of live rows, each once; `['']` for an endpoint that answers one object
 * @param at time of this transaction by the database's clock: `_valid_to`
 * @param columns to copy: `historyColumns`, or `archived` of a current registry
 * @param changeIds one per key, instead of the archived version's `_change_id`: set if the row itself is removed
 *   (MIRROR_DELETES=hard), so that a reader of the watermark sees the deletion in `_history`
 * @throws Error unless exactly the rows of `keys` are there and live
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
    throw new Error(`${table.name}: ${archived} of ${keys.length} versions were archived`);
  }
}

/**
 * Columns that the table and its history have in common, by name and type. A column that was dropped, changed or added
 * by hand in one of the two is left out. They stay the same in a transaction that has read the table, since columns are
 * added to both under the table's lock.
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

/**
 * Stores since when each of the account's collections is mirrored and has a complete history: `<table>_as_of` answers
 * from then on. Called before the account's first page. A collection without a known start counts as mirrored for ever,
 * so `as_of` refuses instead of guessing.
 * @param kept MIRROR_HISTORY is on for this process
 */
export async function openHistory(
  db: Db,
  fence: Fence,
  collections: readonly CollectionName[],
  kept: boolean,
): Promise<void> {
  await fenced(db, fence, async (trx, now) => {
    const since = kept ? sql`${now}::timestamptz` : sql`null::timestamptz`;
    await trx.sql`
      insert into ${trx.table('_collections')} as c (_user_id, collection, mirrored_from, history_from)
      select a._user_id, x.collection, ${now}::timestamptz, ${since}
      from ${trx.stateTable('account')} as a cross join unnest(${[...collections]}::text[]) as x (collection)
      where a._user_id = ${fence.userId}::bigint
      on conflict (_user_id, collection) do update
      set mirrored_from = coalesce(c.mirrored_from, '-infinity'),
        history_from = case when ${kept} then coalesce(c.history_from, excluded.history_from) end
      where c.mirrored_from is null or (c.history_from is not null) <> ${kept}`;
  });
}

/** Versions removed in one transaction, which has to stay short. */
const BATCH = 5_000;

/**
 * Removes the account's versions that were superseded more than `keepMs` ago (MIRROR_HISTORY=400d), in batches.
 * `history_from` moves first, so that no reader takes an incomplete history for a complete one.
 * @param signal stops after the current batch; the next call continues
 */
export async function pruneHistory(db: Db, fence: Fence, keepMs: number, signal: AbortSignal): Promise<void> {
  const before = await fenced(db, fence, async (trx, now) => {
    const moment = new Date(now.getTime() - keepMs);
    await trx.sql`
      update ${trx.table('_collections')} set history_from = ${moment}::timestamptz
      where _user_id = ${fence.userId}::bigint and history_from < ${moment}::timestamptz`;
    return moment;
  });
  const old = sql`_valid_to <= ${before}::timestamptz`;
  for (const name of COLLECTION_NAMES) {
    const history = dataTable(tableOf(db.schema, name), '_history');
    let more = true;
    while (more && !signal.aborted) {
      more = await fenced(db, fence, async (trx) => {
        // As text, since a Date has no microseconds.
        const { rows } = await trx.sql<{ moment: string; id: string }>`
          select _valid_to::text as moment, _change_id as id from ${history}
          where _user_id = ${fence.userId}::bigint and ${old}
          order by _valid_to, _change_id offset ${BATCH - 1} limit 1`;
        const [last] = rows;
        const some = last && sql`(_valid_to, _change_id) <= (${last.moment}::timestamptz, ${last.id}::bigint)`;
        await trx.sql`delete from ${history} where _user_id = ${fence.userId}::bigint and ${some ?? old}`;
        return last !== undefined;
      });
    }
  }
}
