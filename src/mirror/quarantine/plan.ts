import type { PagePlace } from '../../model/page.ts';

/** How often an item that is seen again gets a new `last_seen_at` at most: an unchanged page writes no row. */
export const STAMP_EVERY_MS = 3_600_000;

/** An item of a page that can't be mirrored. */
export interface SeenItem {
  /** Of its text, hexadecimal. */
  readonly hash: string;
  /** Null: it has no key that can be stored. */
  readonly key: string | null;
  /** Of an item without key: the key that it follows, '' at the top; null: not known. */
  readonly place: string | null;
  /** To follow "the item …". */
  readonly reason: string;
}

/** An item in quarantine: what a page may change of it. Moments are milliseconds. */
export interface QuarantinedRow extends SeenItem {
  /** Its text is kept. */
  readonly kept: boolean;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
}

/** What a page shows about items in quarantine. */
export interface QuarantinePage {
  /** One for each text. */
  readonly seen: readonly SeenItem[];
  /** Keys of its items that are mirrored now. */
  readonly good: ReadonlySet<string>;
  /** Places that it shows completely. */
  readonly shown: ReadonlySet<string>;
  /** When its request was sent. */
  readonly at: number;
  /** Least time between two observations of which the later one is believed. */
  readonly gracePeriodMs: number;
}

/**
 * What a page changes of its scope's quarantine, so that there is one row for each bad item that the service has:
 *
 * - An item with a key is recognised by the key, whatever its text.
 * - An item without a key is recognised by its text or, where that is new, by its place: the key that it follows. An
 *   item that does not follow its key any more, where the page shows all that do, has changed or is gone.
 *
 * A place is not an identity: where an item changes while the key before it is deleted, its old row stays. Complete
 * readings remove the rest (`forgetUnseen`). Decision 0010 has the reasons.
 * @param stored rows of the scope with a key, a place or a hash that the page has
 * @returns hashes of rows to remove; new rows, `since` being when the item, whatever its text, came into quarantine; rows
 *   that stay and are written; rows that stay as they are
 */
export function planQuarantine(page: QuarantinePage, stored: readonly QuarantinedRow[]) {
  const { seen, at } = page;
  const left = new Map(stored.map((row) => [row.hash, row]));
  const remove: string[] = [];
  const insert: { item: SeenItem; since: number }[] = [];
  const stamp: SeenItem[] = [];
  const same: SeenItem[] = [];
  const fresh: SeenItem[] = [];
  for (const item of seen) {
    const row = left.get(item.hash);
    left.delete(item.hash);
    if (row === undefined) fresh.push(item);
    else (isUnchanged(row, item, at) ? same : stamp).push(item);
  }
  for (const item of fresh) {
    const before = [...left.values()].find((row) => isSameItem(row, item));
    if (before !== undefined) {
      left.delete(before.hash);
      remove.push(before.hash);
    }
    insert.push({ item, since: before?.firstSeenAt ?? at });
  }
  const bad = new Set(seen.flatMap(({ key }) => key ?? []));
  for (const row of left.values()) if (isGone(row, bad, page)) remove.push(row.hash);
  return { remove, insert, stamp, same };
}

function isUnchanged(row: QuarantinedRow, item: SeenItem, at: number): boolean {
  const moved = item.place !== null && item.place !== row.place;
  return !moved && row.reason === item.reason && row.lastSeenAt >= at - STAMP_EVERY_MS;
}

function isSameItem(row: QuarantinedRow, { key, place }: SeenItem): boolean {
  return key === null ? row.key === null && place !== null && row.place === place : row.key === key;
}

function isGone(
  { key, place, lastSeenAt }: QuarantinedRow,
  bad: ReadonlySet<string>,
  { good, shown, at, gracePeriodMs }: QuarantinePage,
): boolean {
  // An older program may have left several rows under one key: one of them was found above.
  if (key !== null) return good.has(key) || bad.has(key);
  // Within the grace period a stale replica may have answered.
  return place !== null && shown.has(place) && lastSeenAt <= at - gracePeriodMs;
}

/** Items in quarantine that a complete reading of their scope did not see. */
export interface Unseen {
  /** Hashes of those that it saw. */
  readonly seen: readonly string[];
  /** Items that others saw later than this stay. */
  readonly before: Date;
}

/**
 * The places of a page's items, and the places that it shows completely.
 * @param where the page's own place; undefined: not known, or the items are not a page
 */
export function placesOn(
  items: readonly { readonly key: string | undefined }[],
  where: PagePlace | undefined,
): { readonly places: readonly (string | null)[]; readonly shown: ReadonlySet<string> } {
  const shown = new Set<string>();
  if (where === undefined) return { places: items.map(() => null), shown };
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
