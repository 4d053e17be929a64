import type { Db } from '../connection/db.ts';
import { AHEAD_MS, hasCome } from '../ownership/moment-ahead.ts';
import { sql } from 'kysely';
import type { Scope } from '../../model/collections.ts';
import type { HintedRow } from '../../model/hint.ts';

/** A hint as of the moment before its row is read. */
export interface StoredHint {
  /** '' for the scope as a whole. */
  readonly key: string;
  /** Rises with each event that names the row, so that a hint that came since is not removed. */
  readonly seq: string;
  /** When the last event came. */
  readonly hintedAt: Date;
  /** Readings since then that showed no change. */
  readonly step: number;
}

/** Which of an account's hints is next. */
export interface NextHint {
  readonly scope: Scope;
  /** Milliseconds until it is due, by the database's clock; 0: it is due. */
  readonly inMs: number;
}

/** What happens to hints whose rows were read. */
export interface HintUpdate {
  /** These are removed. */
  readonly done: readonly StoredHint[];
  /** These rows looked unchanged, and are read again at `dueAt`. */
  readonly again: readonly { readonly hint: StoredHint; readonly dueAt: Date }[];
}

/**
 * Makes rows due to be read now, in one statement. A row that is due already keeps its place; else one that is named
 * again and again would never be read. Any transaction may do this, without the fence. An unknown account gets no
 * hint.
 * @param rows of mirrored collections
 * @param now by the database's clock
 */
export async function addHints(
  trx: Db,
  userId: string,
  rows: readonly HintedRow[],
  now: Date,
): Promise<void> {
  if (rows.length === 0) return;
  const column = (field: keyof HintedRow): string[] => rows.map((row) => row[field]);
  // In the order in which `updateHints` locks them, too.
  await trx.sql`
    insert into ${trx.stateTable('hint')} as h (_user_id, collection, parent, key, hinted_at, due_at)
    select distinct a._user_id, x.collection, x.parent, x.key collate "C" as key, ${now}::timestamptz, ${now}::timestamptz
    from ${trx.stateTable('account')} as a
    cross join unnest(${column('collection')}::text[], ${column('parent')}::text[], ${column('key')}::text[])
      as x (collection, parent, key)
    where a._user_id = ${userId}::bigint
    order by 2, 3, 4
    on conflict (_user_id, collection, parent, key) do update
    set seq = h.seq + 1, hinted_at = excluded.hinted_at, due_at = least(h.due_at, excluded.due_at), step = 0`;
}

/**
 * The scope whose hint is due first, now or later; of one event's, the lists before a list's items.
 * @param among mirrored collections
 * @param except scopes that are being read, or wait for a while
 */
export async function nextHint(
  db: Db,
  userId: string,
  among: readonly string[],
  except: readonly Pick<Scope, 'collection' | 'parent'>[],
): Promise<NextHint | undefined> {
  const { rows } = await db.sql<Pick<Scope, 'collection' | 'parent'> & Pick<NextHint, 'inMs'>>`
    select h.collection, h.parent,
      case when ${hasCome(sql`h.due_at`, AHEAD_MS.hint)} then 0
        else ceil(extract(epoch from h.due_at - clock_timestamp()) * 1000) end::float8 as "inMs"
    from ${db.stateTable('hint')} as h
    where h._user_id = ${userId}::bigint and h.collection = any(${[...among]}::text[])
      and not exists (
        select from unnest(${except.map(({ collection }) => collection)}::text[], ${except.map(({ parent }) => parent)}::text[])
          as x (collection, parent)
        where x.collection = h.collection and x.parent = h.parent)
    order by "inMs", h.due_at, h.parent limit 1`;
  return rows.map(({ inMs, ...scope }) => ({ scope: { userId, ...scope }, inMs }))[0];
}

/** The scope's hints that are due, the oldest first. */
export async function dueHints(db: Db, scope: Scope, limit: number): Promise<StoredHint[]> {
  const { rows } = await db.sql<StoredHint>`
    select h.key, h.seq, h.hinted_at as "hintedAt", h.step from ${db.stateTable('hint')} as h
    where h._user_id = ${scope.userId}::bigint and h.collection = ${scope.collection} and h.parent = ${scope.parent}
      and ${hasCome(sql`h.due_at`, AHEAD_MS.hint)}
    order by h.due_at, h.key limit ${limit}`;
  return rows;
}

/** In a fenced transaction. A hint that an event has renewed since it was read from here stays as it is. */
export async function updateHints(trx: Db, scope: Scope, { done, again }: HintUpdate): Promise<void> {
  const inScope = sql<boolean>`h.collection = ${scope.collection} and h.parent = ${scope.parent}`;
  const all = [...done, ...again.map(({ hint }) => hint)];
  if (all.length === 0) return;
  await trx.sql`select from ${trx.stateTable('hint')} as h
    where h._user_id = ${scope.userId}::bigint and ${inScope} and h.key = any(${all.map(({ key }) => key)}::text[]) order by h.key for update`;
  if (done.length > 0) {
    await trx.sql`
      delete from ${trx.stateTable('hint')} as h
      using unnest(${done.map(({ key }) => key)}::text[], ${done.map(({ seq }) => seq)}::bigint[]) as x (key, seq)
      where h._user_id = ${scope.userId}::bigint and ${inScope} and h.key = x.key and h.seq = x.seq`;
  }
  if (again.length > 0) {
    await trx.sql`
      update ${trx.stateTable('hint')} as h set step = h.step + 1, due_at = x.due_at
      from unnest(${again.map(({ hint }) => hint.key)}::text[], ${again.map(({ hint }) => hint.seq)}::bigint[],
        ${again.map(({ dueAt }) => dueAt)}::timestamptz[]) as x (key, seq, due_at)
      where h._user_id = ${scope.userId}::bigint and ${inScope} and h.key = x.key and h.seq = x.seq`;
  }
}

/** Removes hints of collections that are not mirrored any more, in a fenced transaction. */
export async function forgetOtherHints(trx: Db, userId: string, mirrored: readonly string[]): Promise<void> {
  await trx.sql`
    delete from ${trx.stateTable('hint')}
    where _user_id = ${userId}::bigint and collection <> all(${[...mirrored]}::text[])`;
}
