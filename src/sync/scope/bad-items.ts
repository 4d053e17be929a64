/** Hashes remembered of one walk at most: some 100 bytes each. */
const MOST = 100_000;

/**
 * The items in quarantine that were seen since a full walk of their scope began, by it and by the others: what is not
 * among them at its end is gone. Only in memory, since an unchanged page writes nothing.
 */
export class BadItems {
  #hashes: Set<string> | undefined = new Set();

  /** Takes a page in, as it is being written; the same page may come again when the write is tried again. */
  note(hashes: readonly string[]): void {
    for (const hash of hashes) this.#hashes?.add(hash);
    if ((this.#hashes?.size ?? 0) > MOST) this.#hashes = undefined;
  }

  /** Undefined where there were too many. */
  get hashes(): readonly string[] | undefined {
    return this.#hashes === undefined ? undefined : [...this.#hashes];
  }
}
