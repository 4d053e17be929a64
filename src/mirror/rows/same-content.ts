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
 * Whether an item's content is what is stored. The stored hash says nothing where it was made by another rule
 * (MIRROR_IGNORE_FIELDS was changed, or what goes into a hash), so the texts are compared. `_raw` has lost how
 * numbers were spelled (`1e2`); which characters jsonb had to replace, `_verbatim` has.
 * @param leaveOut fields that do not count as content
 */
export function isSameContent(stored: StoredItem, source: string, leaveOut: ReadonlySet<string>): boolean {
  const content = canonicalText(source, leaveOut);
  if (stored.verbatim !== null) return canonicalText(stored.verbatim, leaveOut) === content;
  const { raw, verbatim } = jsonbText(content);
  if (verbatim !== undefined) return false;
  return canonicalText(stored.raw, leaveOut, jsonbNumber) === canonicalText(raw, undefined, jsonbNumber);
}

/** The stored item without fields that are never stored now; undefined where it has none of them. */
export function withoutFields(stored: StoredItem, fields: ReadonlySet<string>): StoredItem | undefined {
  if (fields.size === 0) return undefined;
  const source = stored.verbatim ?? stored.raw;
  const left = canonicalText(source, fields);
  if (left === canonicalText(source)) return undefined;
  const { raw, verbatim = null } = jsonbText(left);
  return { raw, verbatim };
}
