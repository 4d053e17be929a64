import type { AbsenceProof, MissingRow, SuspectChange, SuspectedDeletion } from '../model/absence.ts';
import type { Scope } from '../model/collections.ts';
import type { Item, Page, PagePlace } from '../model/page.ts';
import type { WalkEnd } from '../model/sync-events.ts';
import type { Db } from '../postgres/db.ts';

/** One answered page: all of it is written in one transaction, or nothing. */
export interface PageWrite {
  readonly scope: Scope;
  /** Observation number of the request. */
  readonly obs: number;
  /**
   * The scope's `lastObs` as this process read or committed it last: with another one there the page is not written.
   */
  readonly after: number;
  /** The page's items in the order of the answer. */
  readonly items: readonly Item[];
  /** As the page has it. */
  readonly hashes?: Page['hashes'];
  /** What the page proves absent: known rows that it lacks are observed. Left out: nothing. */
  readonly proof?: AbsenceProof | undefined;
  /** Its place in the list: quarantined items of that place that it lacks leave quarantine. Left out: not known. */
  readonly where?: PagePlace | undefined;
  /**
   * A moment of the mirror's monotonic clock, milliseconds: the page's request was not sent before. Where a cache
   * answered, it had the answer no longer than since then.
   */
  readonly sentAfter: number;
  /**
   * Given where a cache answered: what was observed after the copy was made is newer. `knownAsOf`: as of when all rows
   * were mirrored; undefined: never so far.
   */
  readonly copy?: { readonly knownAsOf: Date | undefined } | undefined;
  /**
   * Decides what is stored with the page, by what it was to the mirror. Called inside the transaction, once for each
   * attempt to write the page: a second call must give the same, and leave the same behind, as if it were the first.
   */
  readonly decide: (observed: ObservedPage) => Decision;
  /**
   * More work for the page's transaction, for example the budget's freed slots. Not called when nothing of the page
   * is written.
   */
  readonly alsoInTransaction?: (trx: Db) => Promise<void>;
}

/**
 * What an item of the page was to the mirror:
 * - `inserted`: a key never seen; `updated`: other content than stored; `undeleted`: a deleted row is back
 * - `unchanged`: nothing to write
 * - `deferred`: older content contradicts a deletion or a change that was observed less than MIRROR_SETTLE ago: the
 *   page may be stale, and a later sighting decides (docs/design/deletions.md, "Returns")
 * - `duplicate`: the page has the key again further down; the last one counts
 * - `quarantined`: can't be mirrored; kept verbatim aside
 * - `forgotten`: was erased on request, and is not mirrored again
 */
export type ItemOutcome = keyof typeof NO_OUTCOMES;

export const NO_OUTCOMES = {
  inserted: 0,
  updated: 0,
  undeleted: 0,
  unchanged: 0,
  deferred: 0,
  duplicate: 0,
  quarantined: 0,
  forgotten: 0,
};

export interface ObservedPage {
  /** One outcome for each item of the page, in its order. */
  readonly outcomes: readonly ItemOutcome[];
  readonly counts: PageCounts;
  /** The database's clock in this transaction: `_changed_at` of the rows that it changes. */
  readonly at: Date;
  /** When the page's request was sent, by the same clock. */
  readonly sentAt: Date;
  /** Content hash of each item, hexadecimal, in the page's order; undefined for one that can't be mirrored. */
  readonly hashes: readonly (string | undefined)[];
  /** Live rows that the page proves absent. */
  readonly missing: readonly MissingRow[];
  /** Suspected deletions among the page's keys and the missing rows. */
  readonly suspects: readonly SuspectedDeletion[];
  /** Hashes of its items that are in quarantine. */
  readonly quarantined: readonly string[];
}

/** How many of the page's items had each outcome. */
export type PageCounts = Readonly<Record<ItemOutcome, number>>;

/** What is to be stored with the page. */
export interface Decision {
  readonly scope: ScopeChange;
  /** Changes of the scope's suspected deletions; left out: none. */
  readonly suspectChange?: SuspectChange;
  /** Items in quarantine that are gone: given when the page ends a complete reading of the scope. */
  readonly unseen?: Unseen;
  /** Given when the walk ends with this page. */
  readonly walkEnd?: WalkEnd;
}

/** Changes of a scope's row; what is left out stays as it is. JSON values are stored as they are given. */
export interface ScopeChange {
  /**
   * Order evidence, frontier, what was learnt of the endpoint. Left out where it is the same: each write costs WAL.
   */
  readonly memory?: unknown;
  /** Checkpoint of the full walk under way; null: there is none now. */
  readonly fullWalk?: unknown;
  /** The scope is no longer due for reasons known up to this moment; a later hint stays. */
  readonly clearDueUntil?: Date;
  readonly lastReadAt?: Date;
  readonly polledAt?: Date;
  readonly fullAt?: Date;
  readonly completeAsOf?: Date;
  /** A failure to remember (counted), or null: it works again. */
  readonly failure?: { readonly message: string; readonly at: Date } | null;
}

/** An item of a page that can't be stored. */
export interface BadItem {
  /** Its place in the page. */
  readonly index: number;
  readonly item: Item;
  /** To follow "the item …". */
  readonly reason: string;
}

export type PageResult =
  | {
      readonly state: 'applied';
      readonly outcomes: readonly ItemOutcome[];
      readonly counts: PageCounts;
      readonly decision: Decision;
      /** For NOTIFY after the commit: the greatest `_change_id` of the page; undefined where no row changed. */
      readonly changed: ChangedTable | undefined;
    }
  /** Nothing of the page was written: its list is deleted, or forgotten. */
  | { readonly state: 'parent_deleted' };

export interface ChangedTable {
  readonly table: string;
  readonly userId: string;
  /** Decimal digits of a bigint. */
  readonly changeId: string;
}

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
interface QuarantinePage {
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
