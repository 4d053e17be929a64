/** Queries over a scope's live rows: keys, samples, rows that a walk did not see, unfinished and forgotten ones. */

import { type RawBuilder, sql } from 'kysely';
import type { MissingRow } from '../model/absence.ts';
import { collection, type CollectionName, type Scope } from '../model/collections.ts';
import { forgottenHash } from '../model/key.ts';
import type { Item } from '../model/page.ts';
import { latestMoment } from '../model/values.ts';
import { unlessAhead } from '../postgres/clock-step.ts';
import { allSent, type Db } from '../postgres/db.ts';
import { readAccount } from '../postgres/fenced.ts';
import type { ListDirection } from '../walk/memory.ts';
import type { ChangedRow } from './page-record.ts';
import {
  behind,
  dataTable,
  hasKey,
  inScope,
  keyColumn,
  keyTypeName,
  ofScope,
  place,
  placeOf,
  placeOrder,
  type Table,
  tableOf,
} from './table.ts';

/** A mirrored row that is not deleted. `changedAt`: time of its last insertion, change or undeletion. */
type LiveRow = Readonly<{ key: string; changeId: string; changedAt: Date }>;

/** Rows read by one statement. */
const BATCH = 10_000;

const CHANGED_AT = unlessAhead(sql`t._changed_at`);

/** The scope's live rows, batch by batch in key order. */
export async function* liveRows(db: Db, scope: Scope): AsyncGenerator<readonly LiveRow[]> {
  const table = tableOf(db.schema, scope.collection);
  let last: string | undefined;
  for (;;) {
    const query = sql<LiveRow>`
      select ${keyColumn(table)}::text as key, t._change_id as "changeId", ${CHANGED_AT} as "changedAt"
      from ${dataTable(table)} as t
      where ${inScope(table, scope)} and ${behind(table, last)} and t._deleted_at is null
      order by ${placeOrder(table, 'up')} limit ${BATCH}`;
    const rows = await readAccount(db, scope.userId, query);
    if (rows.length > 0) yield rows;
    if (rows.length < BATCH) return;
    last = rows.at(-1)?.key;
  }
}

/** The live rows among `keys`. */
export async function liveAmong(db: Db, scope: Scope, keys: readonly string[]): Promise<LiveRow[]> {
  const table = tableOf(db.schema, scope.collection);
  const live: LiveRow[] = [];
  for (let start = 0; start < keys.length; start += BATCH) {
    const query = sql<LiveRow>`
      select k.key::text as key, t.* from unnest(${keys.slice(start, start + BATCH)}::${keyTypeName(table)}[]) as k (key)
      cross join lateral (
        select t._change_id as "changeId", ${CHANGED_AT} as "changedAt" from ${dataTable(table)} as t
        where ${inScope(table, scope)} and ${hasKey(table)} and t._deleted_at is null offset 0) as t`;
    live.push(...(await readAccount(db, scope.userId, query)));
  }
  return live;
}

/**
 * The parents that have live rows, by one index lookup for each: reading all rows may exceed a statement's time bound.
 * @throws RangeError for a collection without parents
 */
export async function parentsWithRows(db: Db, userId: string, collection: CollectionName): Promise<string[]> {
  const table = tableOf(db.schema, collection);
  if (table.parent === undefined) throw new RangeError(`${table.name} has no parent`);
  const parent = sql`t.${sql.id(table.parent.column)}`;
  const next = (beyond: RawBuilder<unknown>): RawBuilder<unknown> => sql`
    select ${parent} from ${dataTable(table)} as t
    where t._user_id = ${userId}::bigint and t._deleted_at is null ${beyond} order by ${parent} limit 1`;
  const query = sql<{ parent: string }>`
    with recursive p (parent) as (
      (${next(sql``)}) union all select (${next(sql`and ${parent} > p.parent`)}) from p where p.parent is not null)
    select p.parent::text as parent from p where p.parent is not null`;
  return (await readAccount(db, userId, query)).map((row) => row.parent);
}

/** A random sample of a collection's rows; the same `seed` (an integer) gives the same rows. JSON. */
export type Sample = Readonly<Record<'rows' | 'seed', number>>;

/** Keys of a sample of live rows, by parent ('' outside lists). Reads all rows of the account in the table. */
export async function sampleKeys(
  db: Db,
  userId: string,
  collection: CollectionName,
  { rows: size, seed }: Sample,
): Promise<Map<string, string[]>> {
  const table = tableOf(db.schema, collection);
  const parent = table.parent === undefined ? sql`''` : sql`t.${sql.id(table.parent.column)}::text`;
  const key = sql`${keyColumn(table)}::text`;
  const { rows } = await db.sql<{ parent: string; keys: string[] }>`
    select s.parent, array_agg(s.key) as keys from (
      select ${parent} as parent, ${key} as key from ${dataTable(table)} as t
      where t._user_id = ${userId}::bigint and t._deleted_at is null
      order by hashtextextended(${parent} || ' ' || ${key}, ${seed}::bigint) limit ${size}) as s
    group by s.parent`;
  return new Map(rows.map(({ parent: list, keys }) => [list, keys]));
}

/**
 * Most missing rows that one observation reports, the first in key order, which bounds memory. The next observation
 * reports the rest.
 */
export const MAX_MISSING = 200_000;

/**
 * Live rows of the scope that a whole walk did not see, in key order, at most `MAX_MISSING`. Reads the scope's keys in
 * batches (a million: bench/mirror/compare-keys.ts).
 */
export async function liveKeysMissing(db: Db, scope: Scope, seen: (key: string) => boolean) {
  const missing: MissingRow[] = [];
  for await (const rows of liveRows(db, scope)) {
    for (const { key, changedAt } of rows) {
      if (!seen(key)) missing.push({ key, changedAt: changedAt.getTime() });
      if (missing.length >= MAX_MISSING) return missing;
    }
  }
  return missing;
}

/**
 * Records which changed rows may still change, in a table of their own.
 * @param at time of the change: an unfinished row is polled less and less often from then on
 */
export async function recordUnfinished(trx: Db, scope: Scope, rows: readonly ChangedRow[], at: Date) {
  const finished = rows.filter(({ change, item }) => change !== 'inserted' && item.state === 'finished');
  const warm = rows.filter(({ item }) => item.state !== 'finished');
  const forgotten = finished.length > 0 && forgetUnfinished(trx, scope, keysOf(finished));
  const kept =
    warm.length > 0 &&
    trx.sql`
      insert into ${trx.stateTable('unsettled')} (_user_id, collection, parent, key, since, finished)
      select a._user_id, ${scope.collection}, ${scope.parent}, x.key, x.since, x.failed
      from ${trx.stateTable('account')} as a
      cross join unnest(${keysOf(warm)}::text[],
        ${warm.map((each) => warmSince(each, at).toISOString())}::timestamptz[],
        ${warm.map(({ item }) => item.state === 'failed')}::boolean[]) as x (key, since, failed)
      where a._user_id = ${scope.userId}::bigint
      on conflict (_user_id, collection, parent, key) do update
      set since = excluded.since, finished = excluded.finished`;
  await allSent(forgotten, kept);
}

function keysOf(rows: readonly ChangedRow[]): string[] {
  return rows.map(({ key }) => key);
}

/**
 * Time since when an unfinished row counts as unchanged. For a row that had failed before it came: the latest moment in
 * the item, or polls would reread the failures of years for an hour after the first load. For an open row: its arrival,
 * since its past says nothing about its next change.
 */
function warmSince({ change, item }: ChangedRow, at: Date): Date {
  const latest = item.state === 'failed' && change === 'inserted' ? latestMoment(item.source) : undefined;
  return latest === undefined ? at : new Date(Math.min(latest, at.getTime()));
}

/** Removes finished or deleted rows, which no longer change. */
export async function forgetUnfinished(trx: Db, scope: Scope, keys: readonly string[]): Promise<void> {
  await trx.sql`
    delete from ${trx.stateTable('unsettled')} as u
    where u._user_id = ${scope.userId}::bigint and ${ofScope('u', scope)} and u.key = any(${[...keys]}::text[])`;
}

/**
 * The `nth` stored live key before `of` in list order (1: the nearest; the first of all if there are fewer); undefined
 * if there is none. In a falling list, before means greater. Suspects are skipped: pages should begin at rows that the
 * service has.
 */
export async function predecessor(
  db: Db,
  scope: Scope,
  direction: ListDirection,
  of: string,
  nth: number,
): Promise<string | undefined> {
  const rows = await readAccount(db, scope.userId, predecessorQuery(db, scope, direction, of, nth));
  return rows.at(-1)?.key;
}

/** The query of `predecessor`: up to `nth` keys, the nearest first. */
export function predecessorQuery(
  db: Db,
  scope: Scope,
  direction: ListDirection,
  of: string,
  nth: number,
): RawBuilder<{ key: string }> {
  const table = tableOf(db.schema, scope.collection);
  const falling = direction === 'falling';
  const before = sql`${place(table)} ${falling ? sql`>` : sql`<`} ${placeOf(table, of)}`;
  // A lookup for each key instead of a join: it keeps the order of the keys.
  const certain = sql`not exists (
    select from ${db.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)} and c.key = ${keyColumn(table)}::text offset 0)`;
  return liveKeys(table, scope, sql`${before} and ${certain}`, falling ? 'up' : 'down', nth);
}

/** The `nth` greatest live key (1: the greatest, which is the newest); undefined if there are fewer. */
export async function nthNewest(db: Db, scope: Scope, nth: number): Promise<string | undefined> {
  const table = tableOf(db.schema, scope.collection);
  const rows = await readAccount(db, scope.userId, liveKeys(table, scope, sql`true`, 'down', nth));
  return rows[nth - 1]?.key;
}

/** Number of the scope's live rows by its counter. A zero is verified by a lookup, since counters are hints. */
export async function liveCount(db: Db, scope: Scope): Promise<number> {
  const { rows } = await db.sql<{ live_rows: string }>`
    select t.live_rows from ${db.stateTable('scope')} as t
    where t._user_id = ${scope.userId}::bigint and ${ofScope('t', scope)}`;
  const counted = Number(rows[0]?.live_rows ?? 0);
  return counted > 0 || (await nthNewest(db, scope, 1)) === undefined ? counted : 1;
}

/**
 * The scope's rows that may still change and last changed at `changedSince` or later, in key order.
 * @returns `since`: time of the last change; `failed`: its state is `failed`, which services retry: reread for an hour
 */
export async function unfinishedRows(db: Db, scope: Scope, changedSince: Date) {
  const { key } = tableOf(db.schema, scope.collection);
  const order = key?.type === 'bigint' ? sql`t.key::bigint` : sql`octet_length(t.key), t.key`;
  const { rows } = await db.sql<Readonly<{ key: string; since: Date; failed: boolean }>>`
    select t.key, t.since, t.finished as failed from ${db.stateTable('unsettled')} as t
    where t._user_id = ${scope.userId}::bigint and ${ofScope('t', scope)}
      and t.since >= ${changedSince}
    order by ${order}`;
  return rows;
}

function liveKeys(
  table: Table,
  scope: Scope,
  condition: RawBuilder<unknown>,
  order: 'up' | 'down',
  limit: number,
): RawBuilder<{ key: string }> {
  return sql<{ key: string }>`
    select ${keyColumn(table)}::text as key from ${dataTable(table)} as t
    where ${inScope(table, scope)} and ${condition} and t._deleted_at is null
    order by ${placeOrder(table, order)} limit ${limit}`;
}

/**
 * Keys of a page that were erased on request. They are stored as hashes only.
 * @returns `keys` of items; `parent`: the list of these items was erased
 */
export async function forgottenAmong(db: Db, scope: Scope, items: readonly Pick<Item, 'key'>[]) {
  const { userId, collection: name, parent } = scope;
  // No key is ''.
  const byHash = new Map(items.map(({ key = '' }) => [forgottenHash(scope, key), key]));
  const found = collection(name);
  const parents = found.kind === 'list' ? found.parent?.collection : undefined;
  const list = parents && forgottenHash({ userId, collection: parents, parent: '' }, parent);
  const { rows } = await db.sql<{ hash: string }>`
    select encode(f.key_hash, 'hex') as hash from ${db.table('forgotten')} as f
    where f._user_id = ${userId}::bigint and f.collection = any(${[name, parents]}::text[])
      and f.key_hash = any(array(
        select decode(x.hash, 'hex') from unnest(${[...byHash.keys(), list]}::text[]) as x (hash)))`;
  return {
    keys: new Set(rows.flatMap(({ hash }) => byHash.get(hash) ?? [])),
    parent: rows.some(({ hash }) => hash === list),
  };
}
