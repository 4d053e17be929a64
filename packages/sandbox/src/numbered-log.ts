/** How many records a log keeps. */
const KEPT = 200_000;

/** Numbered records, oldest first, of which the last 200,000 are kept. */
export class NumberedLog<T extends { readonly number: number }> {
  #records: T[] = [];
  #count = 0;

  /** Number of the next record. */
  get next(): number {
    return this.#count + 1;
  }

  add(record: T): void {
    this.#count = record.number;
    this.#records.push(record);
    if (this.#records.length >= 2 * KEPT) this.#records = this.#records.slice(-KEPT);
  }

  /** The kept records with numbers above `number`. */
  after(number: number): readonly T[] {
    const kept = this.#records.slice(-KEPT);
    const first = kept.findIndex((record) => record.number > number);
    return first === -1 ? [] : kept.slice(first);
  }

  /** Removes all records; the numbers continue. */
  clear(): void {
    this.#records = [];
  }
}
