import type { Db } from '../../db/connection/db.ts';
import type { Scope } from '../../model/collections.ts';
import type { SeenItem } from './plan.ts';

/** Most texts that are kept of one collection of an account, and their bytes. The largest item that is read fits. */
export const KEPT = { items: 1_000, bytes: 64 * 1024 * 1024 };

/** An item that comes into quarantine, or is there without its text. */
export interface Arrival {
  readonly item: SeenItem;
  readonly text: string;
  readonly since: Date;
  /** It has a row already. */
  readonly known: boolean;
}

/** Writes the items' rows: with their texts while the collection has room for them, then without. */
export async function insertItems(
  trx: Db,
  scope: Scope,
  arrivals: readonly Arrival[],
  at: Date,
): Promise<void> {
  if (arrivals.length === 0) return;
  const room = await roomFor(trx, scope);
  const rows = arrivals.flatMap(({ item, text, since, known }) => {
    const bytes = Buffer.byteLength(text);
    const kept = room.items > 0 && bytes <= room.bytes;
    if (kept) {
      room.items -= 1;
      room.bytes -= bytes;
    }
    return kept || !known ? [{ ...item, item: kept ? text : '', since, bytes, kept }] : [];
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

/** How many texts the collection may still keep, and how many bytes. */
async function roomFor(trx: Db, { userId, collection }: Scope): Promise<{ items: number; bytes: number }> {
  const { rows } = await trx.sql<{ items: string; bytes: string }>`
    select count(*) as items, coalesce(sum(coalesce(q.bytes, octet_length(q.item))), 0) as bytes
    from ${trx.table('quarantine')} as q
    where q._user_id = ${userId}::bigint and q.collection = ${collection} and q.kept`;
  return {
    items: KEPT.items - Number(rows[0]?.items ?? 0),
    bytes: KEPT.bytes - Number(rows[0]?.bytes ?? 0),
  };
}
