import { hash } from 'node:crypto';
import { canonicalText } from '../model/json-text.ts';

/** Hexadecimal digits of a content hash: 128 bits of SHA-256. */
const DIGITS = 32;

/**
 * Hash of an item's content, by which unchanged rows are told: spelling and order of fields make no difference,
 * every digit does (design 7, step 1). Stored in `_hash`; a change of what goes into it makes every row look
 * changed once.
 * @param leaveOut fields that are ignored or never stored
 * @returns hexadecimal digits
 */
export function contentHash(itemSource: string, leaveOut: ReadonlySet<string>): string {
  const text = canonicalText(itemSource, leaveOut.size === 0 ? undefined : leaveOut);
  return hash('sha256', text, 'hex').slice(0, DIGITS);
}
