/** A page from its answer to its commit, its items sorted by key, and the content hash by which rows are compared. */

import type { TableChange } from '../postgres/notifications.ts';
import { hash } from 'node:crypto';
import type { MissingRow, SuspectChange, SuspectedDeletion } from '../model/absence.ts';
import type { Scope } from '../model/collections.ts';
import { canonicalText } from '../model/json-text.ts';
import type { Item, Page } from '../model/page.ts';
import type { CollectionChange, ReadTotals, WalkEnd } from '../model/sync-events.ts';
import type { Db } from '../postgres/db.ts';
import type { ScopeMemory } from '../walk/memory.ts';
import type { End, TakenPage, Walk } from '../walk/walk.ts';
import type { WholeReading, WholeWalk } from '../walk/whole-walk.ts';

/** One page of a scope, from its answer to the commit: all of it is written in one transaction, or nothing. */
export interface PageRecord {
  readonly scope: Scope;
  /** Observation number of the request. */
  readonly obs: number;
  /** The scope's `lastObs` as this process last read or committed it. If the stored one differs, nothing is written. */
  readonly after: number;
  /** As answered; undefined: the request was refused or the answer was too large. */
  readonly page: Page | undefined;
  /**
   * Lower bound of the time when the service made the answer: the request's, less the answer's age in a cache. Of the
   * mirror's monotonic clock, ms.
   */
  readonly sentAfter: number;
  /** What it shows of absent rows, of the list's order, and of its place there. */
  readonly taken: TakenPage;
  /** Its walk, which has taken the page; `single`: a reading of an endpoint that answers one object. */
  readonly walk: Walk | (Pick<Walk, 'began' | 'agedMs'> & { readonly kind: 'single' });
  /** The scope's memory, as stored and as the walk has left it; undefined: the scope has none. */
  readonly memory: { readonly before: ScopeMemory; readonly after: ScopeMemory } | undefined;
  /** Set if the walk ends with this page. */
  readonly end: (End & AtEnd) | undefined;
  /** Start of this run of the walk. */
  readonly startedAt: Date;
  /** Time of its first request, by the database's clock; undefined: that was this page's. */
  readonly firstSentAt: Date | undefined;
  /** Of this run of the walk, without this page's outcomes. */
  readonly totals: ReadTotals;
  /** The scope's new and unfinished rows were last mirrored as of then. */
  readonly polledAt: Date | undefined;
  /** Start of the scope's last reading that has ended. */
  readonly lastReadAt: Date | undefined;
  /** A poll between two runs of its cron line: `sync_log` gets no row of it if it finds nothing. */
  readonly early: boolean;
  /** The rows that the running full walk has seen, if that may prove something. */
  readonly whole: WholeReading | undefined;
  /** Hashes of the items in quarantine seen since the running full walk began; undefined: unknown. */
  readonly badItems: ReadonlySet<string> | undefined;
  /**
   * More work for the page's transaction: the budget's freed slots. Repeated if the write is retried, and skipped if
   * nothing of the page is written.
   */
  readonly alsoInTransaction: (trx: Db) => Promise<void>;
}

/** What is true once a walk has ended. */
export interface AtEnd {
  /** The scope's new and unfinished rows are mirrored as of then. */
  readonly polledAt?: Date | undefined;
  /** Keys of rows on earlier pages that are not believed yet: until they are, `polledAt` stays. */
  readonly unbelieved?: readonly string[];
  /** Changes of the collection's freshness. */
  readonly collection?: CollectionChange | undefined;
}

/**
 * Outcome of an item of the page:
 * - `inserted`: a new key; `updated`: other content than stored; `undeleted`: a deleted row is back
 * - `unchanged`: nothing to write
 * - `deferred`: older content contradicts a deletion or change observed less than MIRROR_SETTLE ago: the page may be
 *   stale, and a later sighting decides (docs/design/deletions.md, "Returns")
 * - `duplicate`: the page has the key again further down; the last one counts
 * - `quarantined`: can't be mirrored; its text is kept aside
 * - `forgotten`: erased on request, and not mirrored again
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

/** What a page was to the mirror, as its transaction found it. */
export interface ObservedPage {
  /** One outcome per item, in the page's order. */
  readonly outcomes: readonly ItemOutcome[];
  readonly counts: PageCounts;
  /** Time of this transaction by the database's clock: `_changed_at` of the rows that it changes. */
  readonly at: Date;
  /** `sentAfter` by the same clock. */
  readonly sentAt: Date;
  /** Content hash of each item, hexadecimal, in the page's order; undefined for an item that can't be mirrored. */
  readonly hashes: readonly (string | undefined)[];
  /** Live rows that the page proves absent. */
  readonly missing: readonly MissingRow[];
  /** Suspected deletions among the page's keys and the missing rows. */
  readonly suspects: readonly SuspectedDeletion[];
  /** Hashes of its items that are in quarantine. */
  readonly quarantined: readonly string[];
}

/** Number of the page's items by outcome. */
export type PageCounts = Readonly<Record<ItemOutcome, number>>;

/** Changes of a scope's row; fields that are left out stay. JSON values are stored as given. */
export interface ScopeChange {
  /** A `ScopeMemory`. Left out if it is the same: each write costs WAL. */
  readonly memory?: unknown;
  /** Checkpoint of the running full walk; null: none is running. */
  readonly fullWalk?: unknown;
  /** Clears what made the scope due up to this moment; later hints stay. */
  readonly clearDueUntil?: Date;
  readonly lastReadAt?: Date;
  readonly polledAt?: Date;
  readonly fullAt?: Date;
  readonly completeAsOf?: Date;
  /** A failure, which is counted; null: the scope can be read again. */
  readonly failure?: { readonly message: string; readonly at: Date } | null;
}

/** An item of a page that can't be stored, its index there, and the reason, to follow "the item …". */
export type BadItem = Readonly<{ index: number; item: Item; reason: string }>;

export type PageResult =
  | (ObservedPage & {
      readonly state: 'applied';
      readonly decided: PageDecision;
      /** For NOTIFY after the commit: the page's greatest `_change_id`; undefined if no row changed. */
      readonly changed: TableChange | undefined;
    })
  /** Nothing of the page was written: its list is deleted, or forgotten. */
  | { readonly state: 'parent_deleted' };

/** What is stored with a page, and what its walk continues with. */
export interface PageDecision {
  readonly scope: ScopeChange;
  readonly suspectChange: SuspectChange;
  /** Items in quarantine that are gone: set if the page ends a complete reading of the scope. */
  readonly unseen: Unseen | undefined;
  readonly walkEnd: WalkEnd | undefined;
  /** The scope's new memory. */
  readonly memory: ScopeMemory | undefined;
  /** The whole walk that ends with the page; null: it can't be compared with another; undefined: none ends. */
  readonly whole: WholeWalk | null | undefined;
  /** The scope is complete as of then, once a proof confirms that the page belongs to the account. */
  readonly completeAsOf: Date | undefined;
  /** Missing rows that came or changed too recently to be suspected: the next walk decides. */
  readonly overlooks: boolean;
}

/** Least time between two updates of an item's `last_seen_at`, ms: an unchanged page writes no row. */
export const STAMP_EVERY_MS = 3_600_000;

/**
 * Items in quarantine that a complete reading of their scope did not see: `seen` has the hashes of those that it saw,
 * and those that were seen later than `before` stay.
 */
export type Unseen = Readonly<{ seen: readonly string[]; before: Date }>;

/** An item with a usable key, its index in the page, and its content hash (hexadecimal digits). */
export type KeyedItem = Readonly<{ index: number; key: string; hash: string; item: Item }>;

/** A page's items, classified without a lookup. `keyed`: one per key, in the page's order, the last of duplicates. */
export type SortedPage = Readonly<{
  keyed: readonly KeyedItem[];
  duplicates: readonly number[];
  bad: readonly BadItem[];
}>;

/** What is stored under a key; `deletedAt` undefined: the row is live. */
export type StoredRow = Readonly<{ hash: string; deletedAt: Date | undefined }>;

export type ChangedRow = KeyedItem & { readonly change: 'inserted' | 'updated' | 'undeleted' };

/**
 * Classifies a page's items by key, before any lookup.
 * @param hashes the items' content hashes, if they are known
 */
export function sortPage(items: readonly Item[], rule: ContentRule, hashes?: readonly string[]): SortedPage {
  const lastOf = new Map<string, number>();
  const bad: BadItem[] = [];
  for (const [index, item] of items.entries()) {
    if (item.key === undefined) bad.push({ index, item, reason: item.problem ?? 'has no cursor ID' });
    else lastOf.set(item.key, index);
  }
  const keyed: KeyedItem[] = [];
  const duplicates: number[] = [];
  for (const [index, item] of items.entries()) {
    const { key } = item;
    if (key === undefined) continue;
    if (lastOf.get(key) !== index) duplicates.push(index);
    // Reading `source` parses the body of a known page (page.ts).
    else keyed.push({ index, key, hash: hashes?.[index] ?? contentHash(item.source, rule), item });
  }
  return { keyed, duplicates, bad };
}

/** The page without forgotten rows, and the indexes of these. */
export function withoutForgotten(page: SortedPage, items: readonly Item[], keys: ReadonlySet<string>) {
  const isKept = (index: number): boolean => !keys.has(items[index]?.key ?? '');
  const kept: SortedPage = {
    keyed: page.keyed.filter(({ index }) => isKept(index)),
    duplicates: page.duplicates.filter(isKept),
    bad: page.bad.filter(({ index }) => isKept(index)),
  };
  return { page: kept, forgotten: [...items.keys()].filter((index) => !isKept(index)) };
}

/** Items that differ from the stored rows, in the page's order. */
export function changedRows(keyed: readonly KeyedItem[], stored: ReadonlyMap<string, StoredRow>) {
  return keyed.flatMap((row): ChangedRow[] => {
    const known = stored.get(row.key);
    if (known === undefined) return [{ ...row, change: 'inserted' }];
    if (known.deletedAt !== undefined) return [{ ...row, change: 'undeleted' }];
    return known.hash === row.hash ? [] : [{ ...row, change: 'updated' as const }];
  });
}

/** Outcomes of a page of `length` items. */
export function outcomesOf(
  length: number,
  page: SortedPage,
  written: readonly ChangedRow[],
  deferred: readonly ChangedRow[],
  refused: readonly BadItem[],
  forgotten: readonly number[],
): ItemOutcome[] {
  const outcomes = Array.from({ length }, (): ItemOutcome => 'unchanged');
  for (const index of page.duplicates) outcomes[index] = 'duplicate';
  for (const { index } of page.bad) outcomes[index] = 'quarantined';
  for (const { index, change } of written) outcomes[index] = change;
  for (const { index } of deferred) outcomes[index] = 'deferred';
  for (const { index } of refused) outcomes[index] = 'quarantined';
  for (const index of forgotten) outcomes[index] = 'forgotten';
  return outcomes;
}

/** Content hashes of a page of `length` items; undefined for an item that can't be mirrored. */
export function hashesOf(length: number, page: SortedPage): (string | undefined)[] {
  const hashes = Array.from({ length }, (): string | undefined => undefined);
  for (const { index, hash } of page.keyed) hashes[index] = hash;
  return hashes;
}

export function countOutcomes(outcomes: readonly ItemOutcome[]): PageCounts {
  const counts = { ...NO_OUTCOMES };
  for (const outcome of outcomes) counts[outcome] += 1;
  return counts;
}

/** Hexadecimal digits of a content hash: 128 bits of SHA-256. */
const DIGITS = 32;

/** Fields of a collection's items that count as content. */
export interface ContentRule {
  /** Equal for two rules if and only if they hash every item alike. */
  readonly name: string;
  /** Fields that do not count: ignored or never stored. */
  readonly leaveOut: ReadonlySet<string>;
  /** Fields that are never stored. */
  readonly exclude: ReadonlySet<string>;
  /** Removes fields that are no longer stored from a stored item. */
  readonly strip: (source: string) => string;
  /** The hashed fields and the key's fingerprint. */
  readonly hashRule: string;
}

/** @param ignore MIRROR_IGNORE_FIELDS of the collection @param exclude its MIRROR_EXCLUDE_FIELDS */
export function contentRule(
  ignore: Iterable<string>,
  exclude: Iterable<string>,
  hashRule = '',
  strip?: (source: string) => string,
): ContentRule {
  const excluded = new Set(exclude);
  const leaveOut = new Set([...excluded, ...ignore]);
  return {
    name: JSON.stringify([[...leaveOut].toSorted(), [...excluded].toSorted(), hashRule]),
    leaveOut,
    exclude: excluded,
    strip: strip ?? ((source) => canonicalText(source, excluded)),
    hashRule,
  };
}

/**
 * Hash of an item's content, stored in `_hash`: equal if and only if the row is unchanged
 * (docs/design/writing-a-page.md, "Hash"). It includes the names of fields that are never stored, so a row that still
 * has such a field differs and loses it.
 * @returns hexadecimal digits
 */
export function contentHash(itemSource: string, { leaveOut, exclude, hashRule }: ContentRule): string {
  const never = exclude.size === 0 ? '' : JSON.stringify([...exclude].toSorted());
  return hash('sha256', canonicalText(itemSource, leaveOut) + never + hashRule, 'hex').slice(0, DIGITS);
}

/** Whether a stored hash (hexadecimal digits) is complete. If it was emptied by hand, the row is written again. */
export function isComparable(hash: string): boolean {
  return hash.length === DIGITS;
}
