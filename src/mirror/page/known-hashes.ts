import { BoundedMemo } from '../../model/memo/bounded-memo.ts';
import type { ContentRule } from '../rows/content-hash.ts';

/** Bytes that may be remembered, by all accounts of a process: hashes of half a million rows or so. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Content hashes of pages by the text of their body and the rule of hashing: both alone decide. */
export class KnownHashes {
  readonly #known = new BoundedMemo<Buffer>(MOST_BYTES);

  /**
   * @param digest of the page's body
   * @param make makes the hashes, hexadecimal digits; '' for an item that has none
   */
  of(digest: string, rule: ContentRule, make: () => string[]): readonly string[] {
    const name = `${rule.name} ${digest}`;
    const known = this.#known.get(name);
    if (known !== undefined) return unpack(known);
    const hashes = make();
    // Memory of its own: what Buffer.from gives is a piece of 64 KB, which lasts as long as any of its pieces.
    const bytes = Buffer.allocUnsafeSlow(hashes.length * HASH_BYTES);
    // Items without a hash are no part of pages that are known by their text.
    if (bytes.write(hashes.join(''), 'hex') === bytes.length) this.#known.set(name, bytes, bytes.length);
    return hashes;
  }
}

const HASH_BYTES = 16;

function unpack(bytes: Buffer): string[] {
  const digits = bytes.toString('hex');
  const hashes: string[] = [];
  for (let at = 0; at < digits.length; at += 2 * HASH_BYTES) {
    hashes.push(digits.slice(at, at + 2 * HASH_BYTES));
  }
  return hashes;
}
