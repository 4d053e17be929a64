import { hash } from 'node:crypto';
import { canonicalText } from '../model/json-text.ts';
import type { Item } from '../model/page.ts';
import { type BadItem, type ItemOutcome, NO_OUTCOMES, type PageCounts } from './page-record.ts';

/** An item with a usable key. */
export interface KeyedItem {
  /** Index in the page. */
  readonly index: number;
  readonly key: string;
  /** Content hash, hexadecimal digits. */
  readonly hash: string;
  readonly item: Item;
}

/** A page's items, classified without a lookup. */
export interface SortedPage {
  /** One per key, in the page's order; the last of duplicates. */
  readonly keyed: readonly KeyedItem[];
  readonly duplicates: readonly number[];
  readonly bad: readonly BadItem[];
}

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
    // Reading `source` parses the body of a known page (known-pages.ts).
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
