import { hash } from 'node:crypto';
import type { KeyType, Scope } from './collections.ts';

/**
 * Order of keys, which are strings in the service's spelling (decision 0003):
 * - `bigint`: as integers
 * - `text`: shorter first (UTF-8 bytes), then bytewise. So canonical non-negative integers compare as integers
 *   (docs/design/walks.md, "Order is evidence"), IDs with a common prefix by their number, and fixed-length IDs (UUIDs,
 *   ULIDs) as text. Same as Postgres's `octet_length(id), id collate "C"`, which an index serves.
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
/** Longest `text` key: a B-tree entry of PostgreSQL holds about 2,700 bytes. */
export const MAX_TEXT_KEY_BYTES = 1024;

type KeyReading = { readonly key: string } | { readonly problem: string };

/**
 * Reads a key without losing a digit. `problem`: why the item goes to quarantine.
 * @param source the field's value as JSON text (`12`, `"12"`); undefined if the item lacks the field
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
    if (!/^-?\d{1,19}$/.test(text)) return { problem: 'has a cursor ID that is not a 64-bit integer' };
    const integer = BigInt(text);
    if (integer < INT8_MIN || integer > INT8_MAX) return { problem: 'has a cursor ID beyond 64 bits' };
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
 * Hash by which a forgotten row is recognized: SHA-256 of the table's name, a colon, and the row's `_key`, hexadecimal,
 * as SQL can compute it (docs/feeds.md).
 * @param key '' for all items of the scope's list
 */
export function forgottenHash({ userId, collection, parent }: Scope, key: string): string {
  const row = [userId, parent, key].filter((part) => part !== '').join(':');
  return hash('sha256', `${collection}:${row}`, 'hex');
}
