import { hash } from 'node:crypto';
import { sql } from 'kysely';
import type { Scope } from '../model/collections.ts';
import type { BadItem } from './classify.ts';
import type { Executor } from './executor.ts';
import { beside } from './table.ts';

/** An item that is seen again and again is stamped this often at most: an unchanged page writes no row. */
const STAMP_EVERY = '1 hour';

/** Hash by which an item is quarantined once: SHA-256 of its text, hexadecimal. */
export function itemHash(source: string): string {
  return hash('sha256', source, 'hex');
}

/** Keeps items that can't be mirrored, verbatim, with the reason. */
export async function quarantine(
  trx: Executor,
  schema: string,
  scope: Scope,
  items: readonly BadItem[],
  at: Date,
): Promise<void> {
  if (items.length === 0) return;
  // The same text twice in one page would be error 21000.
  const distinct = new Map(items.map((bad) => [itemHash(bad.item.source), bad]));
  const payload = [...distinct].map(([hash, { item, reason }]) => ({
    hash,
    item: printable(item.source),
    key: item.key === undefined ? null : printable(item.key),
    reason,
  }));
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
        and known.last_seen_at >= ${at}::timestamptz - ${STAMP_EVERY}::interval)
    on conflict (_user_id, collection, parent, item_hash) do update
    set last_seen_at = excluded.last_seen_at, reason = excluded.reason`.execute(trx);
}

/** Items whose key came in a form that could be mirrored are no longer in question. */
export async function releaseKeys(
  trx: Executor,
  schema: string,
  scope: Scope,
  keys: readonly string[],
): Promise<void> {
  await sql`
    delete from ${beside(schema, 'quarantine')}
    where _user_id = ${scope.userId}::bigint and collection = ${scope.collection} and parent = ${scope.parent}
      and key = any(${[...keys]}::text[])`.execute(trx);
}

/** JSON source text holds U+0000 only as an escape; a decoded body is well-formed. Belt and braces for text columns. */
function printable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
