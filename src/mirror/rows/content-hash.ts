import { hash } from 'node:crypto';
import { canonicalText } from '../../model/json/json-text.ts';

/** Hexadecimal digits of a content hash: 128 bits of SHA-256. */
const DIGITS = 32;

/** What of a collection's items counts as their content. */
export interface ContentRule {
  /** Fields that are no part of it: ignored, or never stored. */
  readonly leaveOut: ReadonlySet<string>;
  /** Those that are never stored. */
  readonly exclude: ReadonlySet<string>;
}

/** Every field counts. */
export const EVERY_FIELD = contentRule([], []);

/** @param ignore MIRROR_IGNORE_FIELDS of the collection; `exclude` likewise MIRROR_EXCLUDE_FIELDS */
export function contentRule(ignore: Iterable<string>, exclude: Iterable<string>): ContentRule {
  const excluded = new Set(exclude);
  return { leaveOut: new Set([...excluded, ...ignore]), exclude: excluded };
}

/**
 * Hash of an item's content, by which unchanged rows are told: spelling and order of fields make no difference,
 * every digit does (docs/design/writing-a-page.md, "Hash"). Stored in `_hash`; after a change of the rule, or of what goes into a hash, rows
 * are hashed anew in place as they are read (rehash.ts). The names of fields that are never stored go into it, so that a
 * row that still holds one that was only ignored before looks different, and loses it.
 * @returns hexadecimal digits
 */
export function contentHash(itemSource: string, { leaveOut, exclude }: ContentRule): string {
  const text = canonicalText(itemSource, leaveOut.size === 0 ? undefined : leaveOut);
  const never = exclude.size === 0 ? '' : JSON.stringify([...exclude].toSorted());
  return hash('sha256', text + never, 'hex').slice(0, DIGITS);
}

/** Whether a stored hash, as hexadecimal digits, may be one at all. One that somebody emptied has its row written anew. */
export function isComparable(hash: string): boolean {
  return hash.length === DIGITS;
}
