import { jsonbNumber } from '../../model/json/jsonb-number.ts';
import { canonicalText } from '../../model/json/json-text.ts';
import { jsonbText } from '../../model/json/jsonb-text.ts';

/** What is stored of an item. */
export interface StoredItem {
  /** `_raw` as text. */
  readonly raw: string;
  /** `_verbatim`. */
  readonly verbatim: string | null;
}

/**
 * Whether an item's content is what is stored, told without a hash: a stored hash may have been made by another rule
 * (MIRROR_IGNORE_FIELDS was changed, or what goes into a hash), and then says nothing. `_raw` has lost how numbers were
 * spelled (`1e2`) and which characters jsonb could not hold; the latter `_verbatim` has.
 * @param leaveOut fields that are no part of the content
 */
export function isSameContent(stored: StoredItem, source: string, leaveOut: ReadonlySet<string>): boolean {
  const content = canonicalText(source, leaveOut);
  if (stored.verbatim !== null) return canonicalText(stored.verbatim, leaveOut) === content;
  const { raw, verbatim } = jsonbText(content);
  if (verbatim !== undefined) return false;
  return canonicalText(stored.raw, leaveOut, jsonbNumber) === canonicalText(raw, undefined, jsonbNumber);
}

/** What remains of a stored item without fields that are not to be stored any more; undefined where it has none. */
export function withoutFields(stored: StoredItem, fields: ReadonlySet<string>): StoredItem | undefined {
  if (fields.size === 0) return undefined;
  const source = stored.verbatim ?? stored.raw;
  const left = canonicalText(source, fields);
  if (left === canonicalText(source)) return undefined;
  const { raw, verbatim = null } = jsonbText(left);
  return { raw, verbatim };
}
