import { hash } from 'node:crypto';
import type { ItemFields } from '../../model/json/item-fields.ts';
import { canonicalText } from '../../model/json/json-text.ts';
import { LearntCanonical } from '../../model/json/learnt-canonical.ts';

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
  /** Makes canonical texts of these items, where no field is left out. */
  readonly canonical: LearntCanonical;
}

/** Every field counts. */
export const EVERY_FIELD = contentRule([], []);

/** @param ignore MIRROR_IGNORE_FIELDS of the collection, as `exclude` has its MIRROR_EXCLUDE_FIELDS */
export function contentRule(ignore: Iterable<string>, exclude: Iterable<string>): ContentRule {
  const excluded = new Set(exclude);
  const leaveOut = new Set([...excluded, ...ignore]);
  return {
    name: JSON.stringify([[...leaveOut].toSorted(), [...excluded].toSorted()]),
    leaveOut,
    exclude: excluded,
    canonical: new LearntCanonical(),
  };
}

/**
 * Hash of an item's content, stored in `_hash`: an unchanged row has the same (docs/design/writing-a-page.md,
 * "Hash"). The names of fields that are never stored go into it. So a row that still has such a field, because it was
 * only ignored before, looks different and loses it.
 * @returns hexadecimal digits
 */
export function contentHash(itemSource: string, { leaveOut, exclude, canonical }: ContentRule): string {
  const text =
    leaveOut.size === 0
      ? (canonical.of(itemSource) ?? canonicalText(itemSource))
      : canonicalText(itemSource, leaveOut);
  const never = exclude.size === 0 ? '' : JSON.stringify([...exclude].toSorted());
  return digits(typeof text === 'string' ? text + never : text);
}

/**
 * The same, and the item's fields, where they were found on the way: the text is read once for both.
 * @returns `fields` undefined: `fieldSources` finds them
 */
export function hashedContent(
  itemSource: string,
  rule: ContentRule,
): { readonly hash: string; readonly fields: ItemFields | undefined } {
  const known = rule.leaveOut.size === 0 ? rule.canonical.of(itemSource) : undefined;
  return known === undefined
    ? { hash: contentHash(itemSource, rule), fields: undefined }
    : { hash: digits(known), fields: rule.canonical.fields() };
}

function digits(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex').slice(0, DIGITS);
}

/** Whether a stored hash (hexadecimal digits) is complete. Where somebody emptied it, the row is written again. */
export function isComparable(hash: string): boolean {
  return hash.length === DIGITS;
}
