/** Hashes remembered of one walk at most: some 100 bytes each. */
const MOST = 100_000;

/**
 * The items in quarantine that any walk of the scope saw since its full walk began: at that walk's end all others are
 * gone. Kept in memory only, since an unchanged page writes nothing.
 */
export class BadItems {
  #hashes: Set<string> | undefined = new Set();

  /** Takes a page that is being written; the same page comes again where the write is tried again. */
  note(hashes: readonly string[]): void {
    for (const hash of hashes) this.#hashes?.add(hash);
    if ((this.#hashes?.size ?? 0) > MOST) this.#hashes = undefined;
  }

  /** Undefined where there were too many. */
  get hashes(): readonly string[] | undefined {
    return this.#hashes === undefined ? undefined : [...this.#hashes];
  }
}
