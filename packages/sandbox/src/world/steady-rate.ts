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
