import { hash } from 'node:crypto';
import type { KeyType, Scope } from './collections.ts';

/**
 * Keys are strings of the service's own spelling. Their order:
 * - `bigint`: as integers.
 * - `text`: shorter first (UTF-8 bytes), then bytewise. Canonical non-negative integers so compare as integers
 *   (docs/design/walks.md, "Order is evidence"), IDs with a common prefix and a number by that number, and UUIDs,
 *   ULIDs and other fixed-length IDs as text. Postgres orders so by `octet_length(id), id collate "C"`, which an
 *   index serves. Decision record 0003.
 */
export function compareKeys(keyType: KeyType, a: string, b: string): -1 | 0 | 1 {
  if (a === b) return 0;
  if (keyType === 'bigint') {
    const x = BigInt(a);
    const y = BigInt(b);
    return x < y ? -1 : x > y ? 1 : 0;
  }
  const lengths = Buffer.byteLength(a) - Buffer.byteLength(b);
  if (lengths !== 0) return lengths < 0 ? -1 : 1;
  const order = Buffer.compare(Buffer.from(a), Buffer.from(b));
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

const INT8_MIN = -(2n ** 63n);
const INT8_MAX = 2n ** 63n - 1n;
/** Longest `text` key: a B-tree entry of PostgreSQL holds at most some 2,700 bytes. */
export const MAX_TEXT_KEY_BYTES = 1024;

type KeyReading = { readonly key: string } | { readonly problem: string };

/**
 * Reads a key from the field's JSON source text (`12`, `"12"`), no digit lost.
 * `problem` is a reason for quarantine: the item can't be stored under a key.
 * @param source the field's value as JSON text; undefined where the item lacks the field
 */
export function readKey(keyType: KeyType, source: string | undefined): KeyReading {
  if (source === undefined) return { problem: 'has no cursor ID' };
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch {
    return { problem: 'has a cursor ID that is not JSON' };
  }
  if (typeof value !== 'string' && typeof value !== 'number') {
    return { problem: `has a cursor ID that is ${value === null ? 'null' : typeof value}` };
  }
  const text = typeof value === 'number' ? source.trim() : value;
  if (keyType === 'bigint') {
    if (!/^-?\d{1,19}$/.test(text)) return { problem: 'has a cursor ID that is no 64-bit integer' };
    const integer = BigInt(text);
    if (integer < INT8_MIN || integer > INT8_MAX) {
      return { problem: 'has a cursor ID beyond 64 bits' };
    }
    return { key: integer.toString() };
  }
  if (text === '') return { problem: 'has an empty cursor ID' };
  if (Buffer.byteLength(text) > MAX_TEXT_KEY_BYTES) {
    return { problem: `has a cursor ID longer than ${MAX_TEXT_KEY_BYTES} bytes` };
  }
  if (text.includes('\0') || !text.isWellFormed()) {
    return { problem: 'has a cursor ID with U+0000 or a lone surrogate' };
  }
  return { key: text };
}

/**
 * By what a row that was forgotten is known again: SHA-256 of the table's name, a colon, and the row's `_key`, as SQL
 * can compute it (docs/recipes.md); hexadecimal. Who does not know the key learns it from the hash only by trying
 * keys.
 * @param key '' for the list itself whose items the scope's are
 */
export function forgottenHash({ userId, collection, parent }: Scope, key: string): string {
  const row = [userId, parent, key].filter((part) => part !== '').join(':');
  return hash('sha256', `${collection}:${row}`, 'hex');
}
