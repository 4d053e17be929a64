import type { PagePlace } from '../../model/page.ts';

/** An item that is seen again and again is stamped this often at most: an unchanged page writes no row. */
export const STAMP_EVERY_MS = 3_600_000;

/** An item of a page that can't be mirrored. */
export interface SeenItem {
  /** Of its text, hexadecimal. */
  readonly hash: string;
  /** Null: it has none that can be stored. */
  readonly key: string | null;
  /** Of one without key: the key that it follows, '' at the top; null: not known. */
  readonly place: string | null;
  /** To follow "the item …". */
  readonly reason: string;
}

/** An item in quarantine, as far as a page may change it. Moments are milliseconds. */
export interface QuarantinedRow extends SeenItem {
  /** Its text is kept. */
  readonly kept: boolean;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
}

/** What a page says of quarantine. */
export interface QuarantinePage {
  /** One for each text. */
  readonly seen: readonly SeenItem[];
  /** Keys of its items that are mirrored now. */
  readonly good: ReadonlySet<string>;
  /** Places of which it shows all that stands there. */
  readonly shown: ReadonlySet<string>;
  /** When its request was sent. */
  readonly at: number;
  /** Least time between two observations of which the later one is believed. */
  readonly gracePeriodMs: number;
}

export interface QuarantineChange {
  /** Hashes of rows that go. */
  readonly remove: readonly string[];
  /** Rows that come; `since` is when the item, whatever its text, came into quarantine. */
  readonly insert: readonly { readonly item: SeenItem; readonly since: number }[];
  /** Rows that stay, and are written. */
  readonly stamp: readonly SeenItem[];
  /** Rows that stay as they are. */
  readonly same: readonly SeenItem[];
}

/**
 * What a page changes of its scope's quarantine, so that there is one row for each bad item that the service has:
 *
 * - An item with a key is that key, whatever its text.
 * - One without is told by its text; and where that is new, by its place: the key that it follows. What followed a key,
 *   and does not any more where the page shows all that does, has changed (then something new follows it), or is gone.
 *
 * A neighbour is no identity: where the key that an item follows goes in the same moment in which the item changes,
 * the old row stays. So complete readings tell the rest: what they did not see is gone (`forgetUnseen`).
 * @param stored rows of the scope with a key, a place or a hash that the page has
 */
export function planQuarantine(page: QuarantinePage, stored: readonly QuarantinedRow[]): QuarantineChange {
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
  // Of several rows under one key that an older program left, one was found above.
  if (key !== null) return good.has(key) || bad.has(key);
  // Sooner than that a stale replica may have answered.
  return place !== null && shown.has(place) && lastSeenAt <= at - gracePeriodMs;
}

/** An item of a page, as far as it says where another one stands. */
export type PlacedItem = { readonly key: string | undefined };

/**
 * Where the items of a page stand, and the places of which it shows everything.
 * @param where where the page itself stands; undefined: not known, or it is no page
 */
export function placesOn(
  items: readonly PlacedItem[],
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
