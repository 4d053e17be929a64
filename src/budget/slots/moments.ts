/** Pruned moments after which the array is cut: pruning costs amortised O(1). */
const COMPACT_AT = 1_024;

/** The earliest of the moments that there are. */
export function earliest(...moments: readonly (number | undefined)[]): number | undefined {
  const first = Math.min(...moments.map((moment) => moment ?? Infinity));
  return first === Infinity ? undefined : first;
}

/**
 * A sorted log of moments (milliseconds) that grows at its end and is pruned at its beginning. Counting is a binary
 * search: a limit of a million requests costs hardly more than one of sixty.
 */
export class Moments {
  readonly #all: number[] = [];
  #head = 0;

  /** Cheap for nearly sorted input: a moment is moved past the few later ones. */
  add(moment: number): void {
    let index = this.#all.length;
    while (index > this.#head && (this.#all[index - 1] ?? moment) > moment) index -= 1;
    if (index === this.#all.length) this.#all.push(moment);
    else this.#all.splice(index, 0, moment);
  }

  /** How many moments are later than `moment`. */
  countAfter(moment: number): number {
    return this.#all.length - this.#firstAfter(moment);
  }

  /** The earliest moment later than `moment`. */
  nextAfter(moment: number): number | undefined {
    return this.#all[this.#firstAfter(moment)];
  }

  /** Forgets all moments up to `moment`. */
  prune(moment: number): void {
    while (this.#head < this.#all.length && (this.#all[this.#head] ?? Infinity) <= moment) this.#head += 1;
    if (this.#head > COMPACT_AT && this.#head > this.#all.length / 2) {
      this.#all.splice(0, this.#head);
      this.#head = 0;
    }
  }

  #firstAfter(moment: number): number {
    let [low, high] = [this.#head, this.#all.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#all[middle] ?? Infinity) > moment) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
