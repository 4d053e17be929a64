import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import type { CollectionName } from '../../model/collections.ts';

/** An item in quarantine. */
export interface QuarantineEntry {
  /** The beginning of the SHA-256 of its text, hexadecimal. */
  readonly id: string;
  readonly userId: string;
  readonly collection: string;
  /** The list that it is an item of; '' outside lists. */
  readonly list: string;
  /** Null: it has no key that can be stored. */
  readonly key: string | null;
  /** Continues the sentence "the item …". */
  readonly reason: string;
  readonly since: Date;
  readonly lastSeenAt: Date;
  /** Bytes of its text. */
  readonly size: number;
  /** Whether its text is stored. */
  readonly kept: boolean;
}

export interface QuarantineList {
  /** How many there are. */
  readonly items: number;
  /** How many of them have no stored text: a collection's texts are stored up to a limit. */
  readonly withoutText: number;
  /** The newest ones. */
  readonly entries: readonly QuarantineEntry[];
}

/** Hexadecimal digits of an ID: more than enough to tell millions of items apart. */
const ID_DIGITS = 16;

/** The items in quarantine, the newest first, `limit` at most. */
export async function listQuarantine(
  db: Db,
  collections: readonly CollectionName[],
  limit: number,
): Promise<QuarantineList> {
  const kept = db.mirror.selectFrom('quarantine').where('collection', 'in', collections);
  const rows = await kept
    .select(sql<string>`left(encode(item_hash, 'hex'), ${ID_DIGITS})`.as('id'))
    .select(['_user_id as userId', 'collection', 'parent as list', 'key', 'reason'])
    .select(['first_seen_at as since', 'last_seen_at as lastSeenAt'])
    .select(sql<string>`coalesce(bytes, octet_length(item))`.as('size'))
    .select('kept')
    .orderBy('first_seen_at', 'desc')
    .orderBy('item_hash')
    .limit(limit)
    .execute();
  const { items, without } = await kept
    .select(sql<string>`count(*)`.as('items'))
    .select(sql<string>`count(*) filter (where not kept)`.as('without'))
    .executeTakeFirstOrThrow();
  return {
    items: Number(items),
    withoutText: Number(without),
    entries: rows.map((row) => ({ ...row, size: Number(row.size) })),
  };
}

/**
 * Verbatim texts of the items whose ID begins with `id`, at most two; null: the text is not stored.
 * @param id hexadecimal digits
 */
export async function quarantinedTexts(db: Db, id: string): Promise<(string | null)[]> {
  const rows = await db.mirror
    .selectFrom('quarantine')
    .select(['item', 'kept'])
    .distinct()
    .where(sql<boolean>`encode(item_hash, 'hex') like ${`${id.toLowerCase()}%`}`)
    .limit(2)
    .execute();
  return rows.map(({ item, kept }) => (kept ? item : null));
}
