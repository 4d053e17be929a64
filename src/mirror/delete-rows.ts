import { type RawBuilder, sql } from 'kysely';
import { childrenOf, type CollectionName, type ListCollection, parentsOf, type Scope } from '../model/collections.ts';
import { takeChangeIds } from '../postgres/fenced.ts';
import type { Db } from '../postgres/db.ts';
import type { Operator } from '../postgres/operator-log.ts';
import { countRows, hasParent } from './counters.ts';
import { archiveRows, historyColumns } from './history.ts';
import { forgetUnfinished, MAX_MISSING } from './live-rows.ts';
import type { TableChange } from '../postgres/notifications.ts';
import { releaseItems } from './quarantine.ts';
import { saveScope } from './scope-store.ts';
import { countSuspects, forgetSuspects } from './suspect-store.ts';
import { behind, dataTable, hasKey, inScope, keyColumn, keyTypeName, ofScope, placeOrder, tableOf } from './table.ts';

/** Deletions that the brake never blocks: small collections may lose a large share of their rows every day. */
export const FREE_ROWS = 10;
/** Share of a collection's rows that may be deleted per day. */
export const FREE_SHARE = 0.2;

const HOUR_MS = 3_600_000;
/** The last 24 hours in started hours: up to one more. */
const BEGUN_HOURS = 25;

/**
 * Whether a person has to review the deletions: more than 10 rows and more than 20 % of the rows are suspected or were
 * deleted within a day (docs/design/deleting.md, "Brake"). The service may have lost its data or answer for another
 * account. If a user has cleaned up, `--accept-deletions` allows the deletions.
 * @param suspected suspected deletions, proven or not, including the items of suspected lists
 * @param deleted rows deleted in the last day
 */
export function brakeBlocks({
  suspected,
  deleted,
  live,
}: Readonly<Record<'suspected' | 'deleted' | 'live', number>>): boolean {
  const volume = suspected + deleted;
  return volume > FREE_ROWS && volume > FREE_SHARE * (live + deleted);
}

/** Whether the brake blocks a collection's deletions, by its own volume or that of the items deleted with them. */
export async function isBlocked(trx: Db, { userId, collection }: Scope, at: Date): Promise<boolean> {
  // A row that Postgres refuses to delete counts for a day, like a deleted one.
  const ofSuspects = (name: CollectionName) => sql`
    select count(*) from ${trx.stateTable('candidate')} as c
    where c._user_id = ${userId}::bigint and c.collection = ${name} and c.kind <> 'returned'
      and (c.refused_at is null or c.proven_at > ${dayBefore(at)})`;
  if (await isOver(trx, userId, collection, at, ofSuspects(collection))) return true;
  const lists = sql`
    select p.key from ${trx.stateTable('candidate')} as p
    where p._user_id = ${userId}::bigint and p.collection = ${collection} and p.kind <> 'returned'`;
  for (const { name } of childrenOf(collection)) {
    // Items that are suspected themselves or would be deleted with a suspected list.
    const items = sql`
      (${ofSuspects(name)} and c.parent not in (${lists}))
      + (select coalesce(sum(s.live_rows), 0) from ${trx.stateTable('scope')} as s
         where s._user_id = ${userId}::bigint and s.collection = ${name} and s.parent in (${lists}))`;
    if (await isOver(trx, userId, name, at, items)) return true;
  }
  return false;
}

/** @param suspected number of the collection's suspected deletions, a query */
async function isOver(
  trx: Db,
  userId: string,
  collection: CollectionName,
  at: Date,
  suspected: RawBuilder<unknown>,
): Promise<boolean> {
  const { rows } = await trx.sql<Record<'suspected' | 'deleted' | 'live', string>>`
    select (${suspected}) as suspected,
      (select coalesce(sum(d.deleted), 0) from ${trx.stateTable('deletions')} as d
       where d._user_id = ${userId}::bigint and d.collection = ${collection} and d.hour > ${dayBefore(at)}) as deleted,
      (select coalesce(sum(c.live_rows), 0) from ${trx.table('_collections')} as c
       where c._user_id = ${userId}::bigint and c.collection = ${collection}) as live`;
  const [row] = rows;
  return brakeBlocks({
    suspected: Number(row?.suspected),
    deleted: Number(row?.deleted),
    live: Number(row?.live),
  });
}

/** Counts deleted rows towards the volume of the next day. */
async function addDeletions(trx: Db, { userId, collection }: Scope, at: Date, deleted: number) {
  const hour = new Date(Math.floor(at.getTime() / HOUR_MS) * HOUR_MS);
  await trx.sql`
    delete from ${trx.stateTable('deletions')}
    where _user_id = ${userId}::bigint and collection = ${collection} and hour <= ${dayBefore(at)}`;
  await trx.sql`
    insert into ${trx.stateTable('deletions')} as d (_user_id, collection, hour, deleted)
    values (${userId}::bigint, ${collection}, ${hour}::timestamptz, ${deleted}::bigint)
    on conflict (_user_id, collection, hour) do update set deleted = d.deleted + excluded.deleted`;
}

function dayBefore(at: Date): Date {
  return new Date(at.getTime() - BEGUN_HOURS * HOUR_MS);
}

/** Rows of a scope that were deleted with its parent. */
export type DeletedScope = Awaited<ReturnType<typeof deleteAll>>;

/** Items of one list after which its transaction ends (docs/design/deleting.md, "Lists and their items"). */
const MOST_AT_ONCE = 50_000;

/**
 * More observations than any walk has: a walk that began before the deletion would continue with deleted rows, so it
 * finds itself superseded.
 */
const BEYOND_ANY_WALK = 1_000_000;

/**
 * Deletes the items of a list that is being deleted, in this transaction unless they are very many. With the last item
 * the state of their scope is deleted: a list that returns is read from the beginning.
 * @param key of the list
 */
export async function deleteChildren(
  trx: Db,
  { userId, collection }: Scope,
  key: string,
  deletion: Deletion,
): Promise<DeletedScope[]> {
  const deleted: DeletedScope[] = [];
  for (const { name } of childrenOf(collection)) {
    const scope: Scope = { userId, collection: name, parent: key };
    const part = await deleteAll(trx, scope, deletion);
    deleted.push(part);
    if (!part.whole) continue;
    await forgetSuspects(trx, scope, 'all');
    await releaseItems(trx, scope, 'all');
    await trx.sql`
      update ${trx.stateTable('scope')} as s
      set gone_at = ${deletion.at}::timestamptz, memory = '{}', due_at = null, last_read_at = null, polled_at = null,
        full_at = null, complete_as_of = null, last_error = null, last_error_at = null, failures = 0, full_walk = null,
        last_obs = s.last_obs + ${BEYOND_ANY_WALK}::bigint
      where s._user_id = ${userId}::bigint and ${ofScope('s', scope)}`;
    await trx.sql`
      delete from ${trx.stateTable('unsettled')} as u
      where u._user_id = ${userId}::bigint and ${ofScope('u', scope)}`;
  }
  return deleted;
}

/** @returns `whole`: no row is left */
async function deleteAll(trx: Db, scope: Scope, deletion: Deletion) {
  let deleted = 0;
  let changed: TableChange | undefined;
  let after: string | undefined;
  for (;;) {
    const rows = fitting(await rowsToDeleteAfter(trx, scope, after));
    if (rows.length === 0) return { scope, deleted, changed, whole: true };
    if (deleted >= MOST_AT_ONCE) return { scope, deleted, changed, whole: false };
    changed = await deleteRows(trx, scope, rows, deletion);
    deleted += rows.length;
    after = rows.at(-1)?.key;
  }
}

/**
 * Suspects live items without a list, which were added or undeleted by hand. Such a list is never read, so full walks
 * of the lists are the proofs: one lacked the list before, and a later one still lacks it.
 */
export async function suspectItemsOfNoList(trx: Db, userId: string, lists: ListCollection, at: Date) {
  const { name } = lists;
  const table = tableOf(trx.schema, name);
  const parents = parentsOf(lists);
  const { numAffectedRows: proven = 0n } = await trx.sql`
    update ${trx.stateTable('candidate')} as c set proven_at = ${at}::timestamptz
    where c._user_id = ${userId}::bigint and c.collection = ${name} and c.proven_at is null
      and c.at <= (
        select k.complete_as_of from ${trx.table('_collections')} as k
        where k._user_id = ${userId}::bigint and k.collection = ${parents.collection})
      and c.parent in (
        select s.parent from ${trx.stateTable('scope')} as s
        where s._user_id = ${userId}::bigint and s.collection = ${name} and s.gone_at is not null)`;
  const { numAffectedRows: added = 0n } = await trx.sql`
    insert into ${trx.stateTable('candidate')} (_user_id, collection, parent, key, kind, obs, at)
    select a._user_id, ${name}, s.parent, t.key, 'snapshot', s.last_obs, ${at}::timestamptz
    from ${trx.stateTable('account')} as a
    join ${trx.stateTable('scope')} as s on s._user_id = a._user_id and s.collection = ${name}
    cross join lateral (
      select ${keyColumn(table)}::text as key from ${dataTable(table)} as t
      where t._user_id = a._user_id and t.${sql.id(parents.column)} = s.parent::bigint and t._deleted_at is null
      offset 0) as t
    where a._user_id = ${userId}::bigint and s.gone_at is not null and s.live_rows > 0
      and not ${hasParent(trx, name, 's')}
    limit ${MAX_MISSING}
    on conflict (_user_id, collection, parent, key) do nothing`;
  await countSuspects(trx, { userId, collection: name, parent: '' }, Number(added), Number(proven));
}

/** Most rows deleted by one statement, which has to stay within its time bound. */
export const MAX_ROWS = 2_000;
/** Most bytes of their items, since archived versions are written. */
const MAX_BYTES = 32 * 1024 * 1024;

/** How rows are deleted. */
export interface Deletion {
  /** Removed instead of marked (`_deleted_at`). */
  readonly hard: boolean;
  /** The last version is kept. */
  readonly history: boolean;
  /** Who has accepted it; then it does not count towards the brake. */
  readonly accepted: Operator | false;
  /** Time of this transaction by the database's clock. */
  readonly at: Date;
}

/** Postgres deleted fewer rows than requested. */
export class NotDeleted extends Error {}

/** A live row to delete; `bytes`: size of its item, as stored. */
export type RowToDelete = Readonly<{ key: string; bytes: number }>;

/** The live rows of these keys, in key order. */
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

/** The next live rows after `after` in key order (undefined: from the first), as many as one statement may delete. */
async function rowsToDeleteAfter(trx: Db, scope: Scope, after?: string): Promise<RowToDelete[]> {
  const table = tableOf(trx.schema, scope.collection);
  const { rows } = await trx.sql<RowToDelete>`
    select ${keyColumn(table)}::text as key, pg_column_size(t._raw) as bytes from ${dataTable(table)} as t
    where ${inScope(table, scope)} and ${behind(table, after)} and t._deleted_at is null
    order by ${placeOrder(table, 'up')} limit ${MAX_ROWS}`;
  return rows;
}

/** The first rows that one statement may delete, at least one. */
export function fitting(rows: readonly RowToDelete[]): readonly RowToDelete[] {
  let bytes = 0;
  const end = rows.findIndex((row) => (bytes += row.bytes) > MAX_BYTES);
  return end === -1 ? rows.slice(0, MAX_ROWS) : rows.slice(0, Math.min(MAX_ROWS, Math.max(1, end)));
}

/**
 * Deletes live rows of a scope in a fenced transaction, with their counters, unfinished rows and quarantined items.
 * Archives their last version first.
 * @returns the table's new watermark; undefined if there was nothing to delete
 */
export async function deleteRows(
  trx: Db,
  scope: Scope,
  rows: readonly RowToDelete[],
  { hard, history, accepted, at }: Deletion,
): Promise<TableChange | undefined> {
  if (rows.length === 0) return undefined;
  const table = tableOf(trx.schema, scope.collection);
  const keys = rows.map(({ key }) => key);
  const before = await takeChangeIds(trx, scope.userId, keys.length);
  const changeIds = keys.map((_, index) => before + BigInt(index) + 1n);
  if (history) {
    const columns = await historyColumns(trx, table);
    await archiveRows(trx, table, scope, keys, at, 'delete', columns, hard ? changeIds : undefined);
  }
  // The database's clock may step back, and a version must not end before it began (history.ts).
  const moment = sql`greatest(${at}::timestamptz, t._changed_at)`;
  // A lookup by key for each: a join may compare every row of the scope with all keys.
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
      `${table.name}: ${deleted} of ${keys.length} rows were deleted: a trigger or a rule keeps the others`,
    );
  }
  await countRows(trx, scope, -deleted, hard ? 0 : deleted);
  await saveScope(trx, scope, {}, undefined, -deleted, at);
  if (accepted === false) await addDeletions(trx, scope, at, deleted);
  await forgetUnfinished(trx, scope, keys);
  await releaseItems(trx, scope, keys);
  return { table: table.name, userId: scope.userId, changeId: String(changeIds.at(-1)) };
}
