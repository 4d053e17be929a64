import type { Clock } from '@research-mirror/runtime/clock';

/**
 * The time that the data depends on. It runs with the given clock; tests freeze it and move it. Rate windows, latency
 * and logs use the given clock itself: moving the data does not empty a rate window.
 */
export class DataClock {
  readonly #clock: Clock;
  #offset = 0;
  #frozenAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Epoch milliseconds. */
  now(): number {
    return this.#frozenAt ?? Math.floor(this.#clock.now() + this.#offset);
  }

  get frozen(): boolean {
    return this.#frozenAt !== undefined;
  }

  freeze(): void {
    this.#frozenAt = this.now();
  }

  /** Continues from the frozen time. */
  resume(): void {
    if (this.#frozenAt === undefined) return;
    this.#offset = this.#frozenAt - this.#clock.now();
    this.#frozenAt = undefined;
  }

  /** Moves to a later time. @returns false for an earlier one: time does not go back */
  set(time: number): boolean {
    const step = time - this.now();
    if (!(step >= 0)) return false;
    if (this.#frozenAt === undefined) this.#offset += step;
    else this.#frozenAt += step;
    return true;
  }
}
