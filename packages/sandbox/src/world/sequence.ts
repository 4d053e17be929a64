/** Index of the first element whose number is above `limit`, in an array sorted by it. */
export function firstAbove<T>(sorted: readonly T[], number: (element: T) => number, limit: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    // `middle` lies within the array.
    if (number(sorted[middle] as T) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Changes at a steady rate: the creations, vanishings and score changes of a population. Pure, and O(1): how many there
 * were by a time, and when each one was.
 */
export class SteadyRate {
  readonly #since: number;
  readonly #everyMs: number;
  readonly #phase: number;

  /**
   * @param since epoch milliseconds from which changes are counted
   * @param perMinute 0: never
   * @param phase in [0, 1): part of an interval by which the first change is earlier, so that many slow rates
   * do not coincide
   */
  constructor(since: number, perMinute: number, phase: number) {
    this.#since = since;
    this.#everyMs = 60_000 / perMinute;
    this.#phase = phase;
  }

  /** Time of change number `k` (0 is the first), whole milliseconds; Infinity where there is none. */
  at(k: number): number {
    return Math.ceil(this.#since + (k + 1 - this.#phase) * this.#everyMs);
  }

  /** How many changes were at or before `time`. */
  count(time: number): number {
    if (!Number.isFinite(this.#everyMs) || time < this.#since) return 0;
    let count = Math.max(0, Math.floor((time - this.#since) / this.#everyMs + this.#phase));
    // Rounding may make the estimate wrong by one; `at` decides.
    while (this.at(count) <= time) count += 1;
    while (count > 0 && this.at(count - 1) > time) count -= 1;
    return count;
  }

  /** Time of the first change after `time`. */
  next(time: number): number {
    return this.at(this.count(time));
  }
}

interface Post {
  readonly slot: number;
  readonly at: number;
}

/**
 * The sequence of a population's slots, like a database sequence: first the initial items, then creations (at a rate)
 * and posts (by requests) in order of time. A post shifts later creations by one slot: every ID is used once, and IDs
 * rise with the time of creation. Memory: one entry for each post.
 */
export class Sequence {
  readonly initial: number;
  readonly creations: SteadyRate;
  readonly #posts: Post[] = [];

  constructor(initial: number, creations: SteadyRate) {
    this.initial = initial;
    this.creations = creations;
  }

  /** Number of slots that may be in use at `time`, posts made later included. */
  size(time: number): number {
    return this.initial + this.creations.count(time) + this.#posts.length;
  }

  /** Takes the next slot at `time`, which is not before any earlier post. */
  post(time: number): number {
    const slot = this.size(time);
    this.#posts.push({ slot, at: time });
    return slot;
  }

  /** When a slot that is not an initial one was created, and whether by a post. */
  creation(slot: number): { readonly at: number; readonly isPost: boolean } {
    const before = firstAbove(this.#posts, (post) => post.slot, slot - 1);
    const post = this.#posts[before];
    if (post?.slot === slot) return { at: post.at, isPost: true };
    return { at: this.creations.at(slot - this.initial - before), isPost: false };
  }

  /** Number of posts. */
  get posts(): number {
    return this.#posts.length;
  }
}
