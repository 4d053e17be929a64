import { hash } from 'node:crypto';

const FIRST_SLOTS = 1024;

/**
 * A set of keys in 16 to 32 bytes each, whatever their length: 64 bits of each key's SHA-256. `has` is wrongly true
 * for 1 in 2⁶⁴ / n keys that were not added: with n = ten million, for 1 in two million millions.
 */
export class KeySet {
  /** Open addressing; 0 is an empty slot. */
  #slots = new BigUint64Array(FIRST_SLOTS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(key: string): void {
    const print = fingerprint(key);
    const at = this.#find(print);
    if (this.#slots[at] === print) return;
    this.#slots[at] = print;
    this.#size += 1;
    if (this.#size * 2 > this.#slots.length) this.#grow();
  }

  has(key: string): boolean {
    const print = fingerprint(key);
    return this.#slots[this.#find(print)] === print;
  }

  /** Where the fingerprint stands, or the empty slot where it would. */
  #find(print: bigint): number {
    const mask = this.#slots.length - 1;
    let at = Number(print & BigInt(mask));
    while (this.#slots[at] !== 0n && this.#slots[at] !== print) at = (at + 1) & mask;
    return at;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new BigUint64Array(before.length * 2);
    for (const print of before) if (print !== 0n) this.#slots[this.#find(print)] = print;
  }
}

function fingerprint(key: string): bigint {
  const print = hash('sha256', key, 'buffer').readBigUInt64LE();
  return print === 0n ? 1n : print;
}
