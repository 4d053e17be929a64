import { type RawBuilder, sql } from 'kysely';
import { collection, type Scope } from '../model/collections.ts';
import { forgottenHash } from '../model/key.ts';
import type { Item } from '../model/page.ts';
import type { Db } from '../postgres/db.ts';
import { readAccount } from '../postgres/fenced.ts';
import {
  dataTable,
  inScope,
  keyColumn,
  ofScope,
  place,
  placeOf,
  placeOrder,
  type Table,
  tableOf,
} from './table.ts';

/** How keys run from the top of a list to its end. */
type ListDirection = 'falling' | 'rising';

/**
 * The `nth` stored live key before `of` in list order (1: the nearest; the first of all where there are fewer);
 * undefined where there is none. Before means greater where the list is falling. Suspects are passed over: pages
 * should begin at rows that the service has.
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

/** What `predecessor` asks: up to `nth` keys, the nearest first. */
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
  // A lookup for each key, not a join: so the keys keep coming in order.
  const certain = sql`not exists (
    select from ${db.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)} and c.key = ${keyColumn(table)}::text offset 0)`;
  return liveKeys(table, scope, sql`${before} and ${certain}`, falling ? 'up' : 'down', nth);
}

/**
 * The `nth` live key from the newest, that is the greatest, down (1: the greatest); undefined where there are fewer.
 */
export async function nthNewest(db: Db, scope: Scope, nth: number): Promise<string | undefined> {
  const table = tableOf(db.schema, scope.collection);
  const rows = await readAccount(db, scope.userId, liveKeys(table, scope, sql`true`, 'down', nth));
  return rows[nth - 1]?.key;
}

/** How many live rows the scope has, by its own counter. That it has none is looked up: counters are a hint. */
export async function liveCount(db: Db, scope: Scope): Promise<number> {
  const { rows } = await db.sql<{ live_rows: string }>`
    select t.live_rows from ${db.stateTable('scope')} as t
    where t._user_id = ${scope.userId}::bigint and ${ofScope('t', scope)}`;
  const counted = Number(rows[0]?.live_rows ?? 0);
  return counted > 0 || (await nthNewest(db, scope, 1)) === undefined ? counted : 1;
}

/** A row that may still change. */
interface UnfinishedRow {
  readonly key: string;
  /** When it last changed: it cools from then on. */
  readonly since: Date;
  /** Its state is a finished one that services take back (`failed`): warm for an hour. */
  readonly failed: boolean;
}

/** The scope's rows that may still change and last did so at `changedSince` or later, in key order. */
export async function unfinishedRows(db: Db, scope: Scope, changedSince: Date): Promise<UnfinishedRow[]> {
  const { key } = tableOf(db.schema, scope.collection);
  const order = key?.type === 'bigint' ? sql`t.key::bigint` : sql`octet_length(t.key), t.key`;
  const { rows } = await db.sql<UnfinishedRow>`
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
 * What of a page was forgotten on request, by its hash: the keys themselves are nowhere any more.
 * @returns `keys` of items, and whether `parent` was, the list whose items these are
 */
export async function forgottenAmong(
  db: Db,
  scope: Scope,
  items: readonly Pick<Item, 'key'>[],
): Promise<{ readonly keys: ReadonlySet<string>; readonly parent: boolean }> {
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
