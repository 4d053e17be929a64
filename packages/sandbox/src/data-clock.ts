import type { Clock } from '@research-mirror/runtime/clock';

/**
 * The time that data is a function of. Runs with the given clock; tests freeze and move it. Rate windows, latency and
 * logs go by the given clock, so that moving data does not open a window under a client's feet.
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

  /** Runs on from where it stands. */
  resume(): void {
    if (this.#frozenAt === undefined) return;
    this.#offset = this.#frozenAt - this.#clock.now();
    this.#frozenAt = undefined;
  }

  /** Moves to a later moment. @returns false for an earlier one: time does not go back */
  set(time: number): boolean {
    const step = time - this.now();
    if (!(step >= 0)) return false;
    if (this.#frozenAt === undefined) this.#offset += step;
    else this.#frozenAt += step;
    return true;
  }
}
