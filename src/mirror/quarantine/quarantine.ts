import { hash } from 'node:crypto';
import { sql } from 'kysely';
import type { Scope } from '../../model/collections.ts';
import { canonicalText } from '../../model/json-text.ts';
import type { BadItem } from '../classify.ts';
import type { Executor } from '../executor.ts';
import { beside } from '../table.ts';

/** An item that is seen again and again is stamped this often at most: an unchanged page writes no row. */
export const STAMP_EVERY_MS = 3_600_000;

/** Hash by which an item is quarantined once: SHA-256 of its text, hexadecimal. */
export function itemHash(source: string): string {
  return hash('sha256', source, 'hex');
}

/**
 * The text by which an item is kept: verbatim, but for fields that are never stored.
 * JSON source text holds U+0000 only as an escape, and a decoded body is well-formed: the rest is belt and braces.
 */
export function storableText(source: string, exclude: ReadonlySet<string>): string {
  return printable(exclude.size === 0 ? source : canonicalText(source, exclude));
}

/** What a page says of items that can't be mirrored. */
export interface PageQuality {
  readonly bad: readonly BadItem[];
  /** Keys of items that are mirrored now, unchanged ones too; needed only where some of the scope are in quarantine. */
  readonly good: readonly string[];
}

/**
 * Keeps items that can't be mirrored, with the reason, and lets go of those whose key comes in a form that can be
 * mirrored now: what is in quarantine is so the newest that is known under its key.
 * @param exclude fields that are never stored
 * @param at when the items were seen
 */
export async function updateQuarantine(
  trx: Executor,
  schema: string,
  scope: Scope,
  { bad, good }: PageQuality,
  exclude: ReadonlySet<string>,
  at: Date,
): Promise<void> {
  if (good.length > 0) await release(trx, schema, scope, good);
  if (bad.length > 0) await keep(trx, schema, scope, bad, exclude, at);
}

/** Those of the items, by `itemHash` of their text, that are kept in the scope's quarantine. */
export async function quarantinedAmong(
  db: Executor,
  schema: string,
  scope: Scope,
  hashes: readonly string[],
): Promise<Set<string>> {
  const { rows } = await sql<{ hash: string }>`
    select encode(q.item_hash, 'hex') as hash from ${beside(schema, 'quarantine')} as q
    cross join unnest(${[...hashes]}::text[]) as x (hash)
    where q._user_id = ${scope.userId}::bigint and q.collection = ${scope.collection} and q.parent = ${scope.parent}
      and q.item_hash = decode(x.hash, 'hex')`.execute(db);
  return new Set(rows.map((row) => row.hash));
}

async function keep(
  trx: Executor,
  schema: string,
  scope: Scope,
  items: readonly BadItem[],
  exclude: ReadonlySet<string>,
  at: Date,
): Promise<void> {
  const kept = items.map(({ item, reason }) => ({
    item: storableText(item.source, exclude),
    key: item.key === undefined ? null : printable(item.key),
    reason,
  }));
  // The same text twice in one page would be error 21000.
  const distinct = new Map(kept.map((each) => [itemHash(each.item), each]));
  const payload = [...distinct].map(([hash, each]) => ({ hash, ...each }));
  // Of several texts under one key the one seen last is stamped at once: it is the item's present content.
  await sql`
    insert into ${beside(schema, 'quarantine')} as q
      (_user_id, collection, parent, item_hash, item, key, reason, first_seen_at, last_seen_at)
    select ${scope.userId}::bigint, ${scope.collection}, ${scope.parent}, decode(x.hash, 'hex'), x.item, x.key,
      x.reason, ${at}::timestamptz, ${at}::timestamptz
    from json_to_recordset(${JSON.stringify(payload)}::text::json) as x (hash text, item text, key text, reason text)
    where not exists (
      select from ${beside(schema, 'quarantine')} as known
      where known._user_id = ${scope.userId}::bigint and known.collection = ${scope.collection}
        and known.parent = ${scope.parent} and known.item_hash = decode(x.hash, 'hex')
        and known.reason = x.reason and known.last_seen_at >= ${new Date(at.getTime() - STAMP_EVERY_MS)}::timestamptz
        and not exists (
          select from ${beside(schema, 'quarantine')} as other
          where other._user_id = ${scope.userId}::bigint and other.collection = ${scope.collection}
            and other.parent = ${scope.parent} and other.key = known.key and other.last_seen_at > known.last_seen_at))
    on conflict (_user_id, collection, parent, item_hash) do update
    set last_seen_at = greatest(q.last_seen_at, excluded.last_seen_at), reason = excluded.reason`.execute(
    trx,
  );
}

async function release(trx: Executor, schema: string, scope: Scope, keys: readonly string[]): Promise<void> {
  await sql`
    delete from ${beside(schema, 'quarantine')}
    where _user_id = ${scope.userId}::bigint and collection = ${scope.collection} and parent = ${scope.parent}
      and key = any(${[...keys]}::text[])`.execute(trx);
}

function printable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
