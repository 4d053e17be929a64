import { hash } from 'node:crypto';
import { canonicalText } from '../../model/json/json-text.ts';

/** Hexadecimal digits of a content hash: 128 bits of SHA-256. */
const DIGITS = 32;

/** Which fields of a collection's items count as their content. */
export interface ContentRule {
  /** The same for rules that hash every item alike, and only for those. */
  readonly name: string;
  /** Fields that do not count: ignored, or never stored. */
  readonly leaveOut: ReadonlySet<string>;
  /** Those of them that are never stored. */
  readonly exclude: ReadonlySet<string>;
  /** What is left of a stored item by this rule. */
  readonly strip: (source: string) => string;
  /** Which fields are hashed, under which key. */
  readonly hashRule: string;
}

/** @param ignore MIRROR_IGNORE_FIELDS of the collection, as `exclude` has its MIRROR_EXCLUDE_FIELDS */
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
 * Hash of an item's content, stored in `_hash`: an unchanged row has the same (docs/design/writing-a-page.md,
 * "Hash"). The names of fields that are never stored go into it. So a row that still has such a field, because it was
 * only ignored before, looks different and loses it.
 * @returns hexadecimal digits
 */
export function contentHash(itemSource: string, { leaveOut, exclude, hashRule }: ContentRule): string {
  const never = exclude.size === 0 ? '' : JSON.stringify([...exclude].toSorted());
  return hash('sha256', canonicalText(itemSource, leaveOut) + never + hashRule, 'hex').slice(0, DIGITS);
}

/** Whether a stored hash (hexadecimal digits) is complete. Where somebody emptied it, the row is written again. */
export function isComparable(hash: string): boolean {
  return hash.length === DIGITS;
}
