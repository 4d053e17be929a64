/**
 * Remembers what was computed, up to a number of bytes; what was not asked for longest goes first. Whoever computes
 * something says how large it is.
 */
export class BoundedMemo<T> {
  readonly #most: number;
  readonly #entries = new Map<string, { readonly value: T; readonly bytes: number }>();
  #bytes = 0;

  /** @param most bytes at most, entries' own keys and bookkeeping included */
  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // The map keeps the order in which entries came: this one is the latest now.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** @param bytes of the value, about */
  set(key: string, value: T, bytes: number): void {
    this.#remove(key);
    const entry = { value, bytes: bytes + 2 * key.length + ENTRY_BYTES };
    this.#entries.set(key, entry);
    this.#bytes += entry.bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#most) break;
      this.#remove(oldest);
    }
  }

  #remove(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}

/** What an entry takes besides its key and value, about. */
const ENTRY_BYTES = 200;
