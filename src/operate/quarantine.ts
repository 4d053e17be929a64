import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { sql } from 'kysely';
import { COLLECTION_NAMES } from '../model/collections.ts';
import type { Db } from '../postgres/db.ts';
import { chooseCollections, readLimit, refuseFilters, USUAL_LIMITS } from '../terminal/given.ts';
import { onMirror } from '../terminal/open-mirror.ts';
import { complain, EXIT, type Options, say, type Shell, UsageError } from '../terminal/shell.ts';
import { minute, printList } from '../terminal/text-table.ts';

/** Hexadecimal digits of an ID: the beginning of the SHA-256 of an item's text. */
const ID_DIGITS = 16;

export async function quarantineAction(
  shell: Shell,
  _: string,
  names: string[],
  options: Options<'json' | 'demo', 'limit' | 'show'>,
) {
  const collections = chooseCollections(names);
  const { show, json = false, demo } = options;
  const most = readLimit(options.limit, USUAL_LIMITS.quarantine);
  refuseFilters(options, ['limit']);
  if (show !== undefined && collections !== undefined) throw new UsageError('--show takes no collections');
  if (show !== undefined && !/^[0-9a-f]{4,64}$/i.test(show))
    throw new UsageError('--show takes an ID from "quarantine list", or at least its first 4 digits');
  return onMirror(shell, 'quarantine', { demo }, async ({ db }) => {
    if (show !== undefined) {
      const [text, other] = await quarantinedTexts(db, show);
      if (text === undefined || other !== undefined) {
        const what = text === undefined ? 'no item' : 'more than one item';
        complain(shell, `${what} in quarantine has an ID that begins with ${show}`);
        return EXIT.NO;
      }
      if (text === null) {
        const why = 'its collection has too many items in quarantine';
        complain(shell, `the text of this item is not kept: ${why}`);
        return EXIT.NO;
      }
      // Verbatim, except secrets of ours that the service sent back.
      say(shell, json ? JSON.stringify({ item: text }) : text);
      return EXIT.DONE;
    }
    const all = db.mirror.selectFrom('quarantine').where('collection', 'in', collections ?? COLLECTION_NAMES);
    const rows = await all
      .select(sql<string>`left(encode(item_hash, 'hex'), ${ID_DIGITS})`.as('id'))
      .select(['_user_id as userId', 'collection', 'parent as list', 'key', 'reason'])
      .select(['first_seen_at as since', 'last_seen_at as lastSeenAt'])
      .select(sql<string>`coalesce(bytes, octet_length(item))`.as('size'))
      .select('kept')
      .orderBy('first_seen_at', 'desc')
      .orderBy('item_hash')
      .limit(most)
      .execute();
    const counts = await all
      .select(sql<string>`count(*)`.as('items'))
      .select(sql<string>`count(*) filter (where not kept)`.as('without'))
      .executeTakeFirstOrThrow();
    const [items, withoutText] = [Number(counts.items), Number(counts.without)];
    const entries = rows.map((row) => ({ ...row, size: Number(row.size) }));
    const more =
      items > entries.length ? ` (the newest ${formatCount(entries.length)} are listed; --limit lists more)` : '';
    const without = withoutText > 0 ? `, ${formatCount(withoutText)} of them without their text: too many to keep` : '';
    return printList(shell, {
      json: json ? JSON.stringify({ items, withoutText, entries }, undefined, 2) : undefined,
      rows: entries.map((each) => ({
        id: each.id,
        account: each.userId,
        collection: each.collection,
        list: each.list,
        key: each.key,
        'since (UTC)': minute(each.since),
        'last seen': minute(each.lastSeenAt),
        bytes: formatCount(each.size),
        'the item …': each.reason,
      })),
      none: 'nothing is in quarantine',
      below: `${countOf(items, 'item')}${more}${without}; --show ID prints one`,
    });
  });
}

/** Texts of at most two items whose ID begins with `id`, in hexadecimal digits. Null: the text is not stored. */
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
