/**
 * Events at a steady rate: the births, vanishings and score changes of a population. Pure: how many there were at a
 * time, and when each was, cost O(1).
 */
export class Pulse {
  readonly #since: number;
  readonly #everyMs: number;
  readonly #phase: number;

  /**
   * @param since epoch milliseconds from which events are counted
   * @param perMinute 0: never
   * @param phase in [0, 1): part of an interval by which the first event comes earlier, so that many slow pulses
   * do not beat together
   */
  constructor(since: number, perMinute: number, phase: number) {
    this.#since = since;
    this.#everyMs = 60_000 / perMinute;
    this.#phase = phase;
  }

  /** Moment of event number `k` (0 is the first), whole milliseconds; Infinity where there is none. */
  at(k: number): number {
    return Math.ceil(this.#since + (k + 1 - this.#phase) * this.#everyMs);
  }

  /** How many events were at or before `time`. */
  count(time: number): number {
    if (!Number.isFinite(this.#everyMs) || time < this.#since) return 0;
    let count = Math.max(0, Math.floor((time - this.#since) / this.#everyMs + this.#phase));
    // Rounding may put the estimate one off; `at` decides.
    while (this.at(count) <= time) count += 1;
    while (count > 0 && this.at(count - 1) > time) count -= 1;
    return count;
  }

  /** Moment of the first event after `time`. */
  next(time: number): number {
    return this.at(this.count(time));
  }
}
