import type { Item, PagePlace } from '../model/page.ts';
import type { Db } from '../postgres/db.ts';
import { hash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Scope } from '../model/collections.ts';
import { canonicalText } from '../model/json-text.ts';
import { type BadItem, STAMP_EVERY_MS, type Unseen } from './page-record.ts';
import { ofScope } from './table.ts';

/** Most texts kept of one collection of an account, and their bytes. The largest item that can be read fits. */
export const KEPT = { items: 1_000, bytes: 64 * 1024 * 1024 };

/** Identity of an item in quarantine: SHA-256 of its text, hexadecimal. */
export function itemHash(source: string): string {
  return hash('sha256', source, 'hex');
}

/**
 * The item's text as it is kept: verbatim, without the fields that are never stored. `printable` is only a safeguard:
 * JSON source text has U+0000 only as an escape, and a decoded body is well-formed.
 */
export function storableText(source: string, exclude: ReadonlySet<string>): string {
  return printable(exclude.size === 0 ? source : canonicalText(source, exclude));
}

/**
 * Keeps items that can't be mirrored with the reason, one row for each (`planQuarantine`). Removes those that the page
 * shows to be mirrored, changed or gone, so quarantine has the latest known state.
 * @param quality.good keys of items that are mirrored now, unchanged ones included
 * @param quality.exclude fields that are never stored
 * @param quality.at when the page's request was sent
 * @param quality.some the scope has items in quarantine
 * @returns hashes of the page's items in quarantine
 */
export async function updateQuarantine(
  trx: Db,
  scope: Scope,
  quality: Readonly<{
    items: readonly Item[];
    where: PagePlace;
    bad: readonly BadItem[];
    good: readonly string[];
    exclude: ReadonlySet<string>;
    at: Date;
    gracePeriodMs: number;
    some: boolean;
  }>,
): Promise<readonly string[]> {
  const { items, bad, good, where, exclude, at, gracePeriodMs, some } = quality;
  if (bad.length === 0 && !some) return [];
  const { places, shown } = placesOn(items, where);
  const texts = new Map<string, string>();
  const seen = new Map<string, SeenItem>();
  for (const { index, item, reason } of bad) {
    const text = storableText(item.source, exclude);
    const key = item.key === undefined ? null : printable(item.key);
    const place = key === null ? (places[index] ?? null) : null;
    const badItem: SeenItem = { hash: itemHash(text), key, place, reason };
    // The last of several texts under one key counts, as with rows.
    seen.set(key ?? badItem.hash, badItem);
    texts.set(badItem.hash, text);
  }
  const page = {
    seen: [...new Map([...seen.values()].map((each) => [each.hash, each])).values()],
    good: new Set(good),
    shown,
    at: at.getTime(),
    gracePeriodMs,
  };
  const stored = some ? await storedItems(trx, scope, page) : [];
  const { remove, insert, stamp, same } = planQuarantine(page, stored);
  if (remove.length > 0) await release(trx, scope, sql`q.item_hash = any(${bytes(remove)})`);
  if (stamp.length > 0) {
    await trx.sql`
      update ${trx.table('quarantine')} as q
      set last_seen_at = greatest(q.last_seen_at, ${at}::timestamptz), reason = x.reason, place = coalesce(x.place, q.place)
      from json_to_recordset(${JSON.stringify(stamp)}::text::json) as x (hash text, place text, reason text)
      where q._user_id = ${scope.userId}::bigint and ${ofScope('q', scope)} and q.item_hash = decode(x.hash, 'hex')`;
  }
  // Items that are there without their text get it once there is room.
  const unkept = new Map(stored.filter(({ kept }) => !kept).map((row) => [row.hash, row.firstSeenAt]));
  const again = [...same, ...stamp].flatMap((item) => {
    const since = unkept.get(item.hash);
    return since === undefined ? [] : [{ item, since, known: true }];
  });
  await insertItems(trx, scope, [...again, ...insert], texts, at);
  return page.seen.map((each) => each.hash);
}

/**
 * Writes the items' rows, with their texts while the collection has room for them.
 * @param arrivals items with the time (ms) when they came into quarantine; `known` ones have a row already
 */
async function insertItems(
  trx: Db,
  scope: Scope,
  arrivals: readonly { readonly item: SeenItem; readonly since: number; readonly known?: boolean }[],
  texts: ReadonlyMap<string, string>,
  at: Date,
): Promise<void> {
  if (arrivals.length === 0) return;
  const { rows: used } = await trx.sql<Record<'items' | 'bytes', string>>`
    select count(*) as items, coalesce(sum(coalesce(q.bytes, octet_length(q.item))), 0) as bytes
    from ${trx.table('quarantine')} as q
    where q._user_id = ${scope.userId}::bigint and q.collection = ${scope.collection} and q.kept`;
  const room = {
    items: KEPT.items - Number(used[0]?.items ?? 0),
    bytes: KEPT.bytes - Number(used[0]?.bytes ?? 0),
  };
  const rows = arrivals.flatMap(({ item, since, known = false }) => {
    const text = texts.get(item.hash) ?? '';
    const size = Buffer.byteLength(text);
    const kept = room.items > 0 && size <= room.bytes;
    if (kept) {
      room.items -= 1;
      room.bytes -= size;
    }
    return kept || !known ? [{ ...item, item: kept ? text : '', since: new Date(since), bytes: size, kept }] : [];
  });
  if (rows.length === 0) return;
  await trx.sql`
    insert into ${trx.table('quarantine')} as q
      (_user_id, collection, parent, item_hash, item, key, place, reason, bytes, kept, first_seen_at, last_seen_at)
    select ${scope.userId}::bigint, ${scope.collection}, ${scope.parent}, decode(x.hash, 'hex'), x.item, x.key, x.place,
      x.reason, x.bytes, x.kept, x.since, ${at}::timestamptz
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as x
      (hash text, item text, key text, place text, reason text, bytes bigint, kept boolean, since timestamptz)
    on conflict (_user_id, collection, parent, item_hash) do update
    set item = excluded.item, kept = excluded.kept, bytes = excluded.bytes`;
}

/** Removes the items with these keys, whose rows are deleted, or all items of a scope, whose list is deleted. */
export function releaseItems(trx: Db, scope: Scope, keys: readonly string[] | 'all'): Promise<void> {
  return release(trx, scope, keys === 'all' ? sql`true` : sql`q.key = any(${[...keys]}::text[])`);
}

/** Most rows removed by one reading, whose transaction has to stay short; the next one removes the rest. */
const MOST_FORGOTTEN = 2_000;

/** Removes items that a complete reading of the scope did not see: the service no longer has them. */
export function forgetUnseen(trx: Db, scope: Scope, { seen, before }: Unseen): Promise<void> {
  const unseen = sql`
    select q.item_hash from ${trx.table('quarantine')} as q
    where q._user_id = ${scope.userId}::bigint and ${ofScope('q', scope)} and q.last_seen_at < ${before}::timestamptz
      and not exists (
        select from unnest(${[...seen]}::text[]) as s (hash) where decode(s.hash, 'hex') = q.item_hash)
    limit ${MOST_FORGOTTEN}`;
  return release(trx, scope, sql`q.item_hash = any(array(${unseen}))`);
}

/** @param which condition on the table aliased `q` */
async function release(trx: Db, scope: Scope, which: RawBuilder<unknown>): Promise<void> {
  await trx.sql`
    delete from ${trx.table('quarantine')} as q
    where q._user_id = ${scope.userId}::bigint and ${ofScope('q', scope)} and ${which}`;
}

/** Items in the scope's quarantine among these, by `itemHash`. */
export async function quarantinedAmong(db: Db, scope: Scope, hashes: readonly string[]) {
  const { rows } = await db.sql<{ hash: string }>`
    select encode(q.item_hash, 'hex') as hash from ${db.table('quarantine')} as q
    where q._user_id = ${scope.userId}::bigint and ${ofScope('q', scope)} and q.item_hash = any(${bytes(hashes)})`;
  return new Set(rows.map((row) => row.hash));
}

/** Keys among these whose item is in the scope's quarantine, whatever its text. */
export async function quarantinedKeys(db: Db, scope: Scope, keys: readonly string[]): Promise<Set<string>> {
  const { rows } = await db.sql<{ key: string }>`
    select q.key from ${db.table('quarantine')} as q
    where q._user_id = ${scope.userId}::bigint and ${ofScope('q', scope)} and q.key = any(${[...keys]}::text[])`;
  return new Set(rows.map(({ key }) => key));
}

/** Rows of the scope that the page may change. */
async function storedItems(
  trx: Db,
  scope: Scope,
  { seen, good, shown }: Parameters<typeof planQuarantine>[0],
): Promise<QuarantinedRow[]> {
  const keys = [...good, ...seen.flatMap(({ key }) => key ?? [])];
  const places = [...shown, ...seen.flatMap(({ place }) => place ?? [])];
  const { rows } = await trx.sql<Omit<QuarantinedRow, 'firstSeenAt' | 'lastSeenAt'> & { first: Date; last: Date }>`
    select encode(q.item_hash, 'hex') as hash, q.key, q.place, q.reason, q.kept, q.first_seen_at as first,
      q.last_seen_at as last
    from ${trx.table('quarantine')} as q
    where q._user_id = ${scope.userId}::bigint and ${ofScope('q', scope)} and (q.key = any(${keys}::text[])
      or q.place = any(${places}::text[]) or q.item_hash = any(${bytes(seen.map((each) => each.hash))}))
    order by q.last_seen_at desc, q.first_seen_at, q.item_hash`;
  return rows.map(({ first, last, ...row }) => ({
    ...row,
    firstSeenAt: first.getTime(),
    lastSeenAt: last.getTime(),
  }));
}

function bytes(hashes: readonly string[]): RawBuilder<unknown> {
  return sql`array(select decode(x.hash, 'hex') from unnest(${[...hashes]}::text[]) as x (hash))`;
}

function printable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

/** An item of a page that can't be mirrored. */
export interface SeenItem {
  /** Hash of its text, hexadecimal. */
  readonly hash: string;
  /** Null: no key that can be stored. */
  readonly key: string | null;
  /** Key before an item without a key, '' at the top; null: unknown. */
  readonly place: string | null;
  /** To follow "the item …". */
  readonly reason: string;
}

/** An item in quarantine as far as a page may change it; whether its text is kept. Times are milliseconds. */
export type QuarantinedRow = SeenItem & Readonly<{ kept: boolean; firstSeenAt: number; lastSeenAt: number }>;

/**
 * How a page changes its scope's quarantine, so that there is one row for each bad item of the service:
 *
 * - An item with a key is identified by the key, whatever its text.
 * - An item without a key is identified by its text or, if that is new, by its place, which is the key before it. An
 *   item that no longer follows its key, on a page that shows all that do, has changed or is gone.
 *
 * A place is not an identity: if an item changes while the key before it is deleted, its old row stays. Complete
 * readings remove the rest (`forgetUnseen`). Decision 0010 has the reasons.
 * @param page.seen items that can't be mirrored, one per text
 * @param page.good keys of items that are mirrored now
 * @param page.shown places that the page shows completely
 * @param page.at when its request was sent; times are milliseconds
 * @param stored rows of the scope with a key, a place or a hash that the page has
 * @returns hashes of rows to remove; new rows, with `since` when the item came into quarantine, whatever its text; rows
 *   to stamp; rows that stay as they are
 */
export function planQuarantine(
  page: Readonly<{
    seen: readonly SeenItem[];
    good: ReadonlySet<string>;
    shown: ReadonlySet<string>;
    at: number;
    gracePeriodMs: number;
  }>,
  stored: readonly QuarantinedRow[],
) {
  const { seen, good, shown, at, gracePeriodMs } = page;
  const left = new Map(stored.map((row) => [row.hash, row]));
  const remove: string[] = [];
  const insert: { item: SeenItem; since: number }[] = [];
  const stamp: SeenItem[] = [];
  const same: SeenItem[] = [];
  const fresh: SeenItem[] = [];
  for (const item of seen) {
    const row = left.get(item.hash);
    left.delete(item.hash);
    if (row === undefined) {
      fresh.push(item);
      continue;
    }
    const moved = item.place !== null && item.place !== row.place;
    const isSame = !moved && row.reason === item.reason && row.lastSeenAt >= at - STAMP_EVERY_MS;
    (isSame ? same : stamp).push(item);
  }
  for (const item of fresh) {
    const { key, place } = item;
    const before = [...left.values()].find((row) =>
      key === null ? row.key === null && place !== null && row.place === place : row.key === key,
    );
    if (before !== undefined) {
      left.delete(before.hash);
      remove.push(before.hash);
    }
    insert.push({ item, since: before?.firstSeenAt ?? at });
  }
  const bad = new Set(seen.flatMap(({ key }) => key ?? []));
  for (const { hash: old, key, place, lastSeenAt } of left.values()) {
    const isGone =
      key === null
        ? // Within the grace period a stale replica may have answered.
          place !== null && shown.has(place) && lastSeenAt <= at - gracePeriodMs
        : // An older program may have left several rows under one key; one of them was found above.
          good.has(key) || bad.has(key);
    if (isGone) remove.push(old);
  }
  return { remove, insert, stamp, same };
}

/**
 * The places of a page's items, and the places that it shows completely.
 * @param where the page's own place
 */
export function placesOn(items: readonly { readonly key: string | undefined }[], where: PagePlace) {
  const shown = new Set<string>();
  let place: string | null = where.after === undefined ? null : (where.after ?? '');
  const places = items.map(({ key }) => {
    const here = place;
    if (key !== undefined) {
      if (place !== null) shown.add(place);
      place = key;
    }
    return here;
  });
  if (where.ends && place !== null) shown.add(place);
  return { places, shown };
}
