/**
 * A permutation of the numbers 0 … size−1, repeated for ever, with its inverse in O(1): which of `size` items change
 * number k touches, and which changes touch an item. k → (k·step) mod size, with step coprime to size and near the
 * golden ratio: changes that follow each other touch items far apart. Exact up to some 90 million items.
 */
export class Permutation {
  readonly size: number;
  readonly #step: number;
  readonly #inverse: number;

  constructor(size: number) {
    this.size = size;
    this.#step = coprimeNear(size * 0.618_033_988_75, size);
    this.#inverse = size > 1 ? inverseOf(this.#step, size) : 0;
  }

  /** The item that change number `k` touches. */
  itemAt(k: number): number {
    return ((k % this.size) * this.#step) % this.size;
  }

  /** Number of the first change that touches `item`; the next ones follow every `size` changes. */
  firstTurnOf(item: number): number {
    return ((item % this.size) * this.#inverse) % this.size;
  }
}

function coprimeNear(about: number, size: number): number {
  let step = Math.max(1, Math.round(about));
  while (gcd(step, size) > 1) step += 1;
  return step;
}

function gcd(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

/** The x with (a·x) mod m = 1, by Euclid's extended algorithm. */
function inverseOf(a: number, m: number): number {
  let [previous, current] = [a % m, m];
  let [x, nextX] = [1, 0];
  while (current !== 0) {
    const quotient = Math.floor(previous / current);
    [previous, current] = [current, previous - quotient * current];
    [x, nextX] = [nextX, x - quotient * nextX];
  }
  return ((x % m) + m) % m;
}
