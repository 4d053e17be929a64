import type { Clock } from '@research-mirror/runtime/clock';

/** A token bucket of bytes: so many a second, and a burst of them after a quiet time. */
export class ByteRate {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #burst: number;
  #left: number;
  #at: number;

  constructor(clock: Clock, { perSecond, burst }: { readonly perSecond: number; readonly burst: number }) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#left = burst;
    this.#at = clock.monotonic();
  }

  /** Whether so much could be taken now. */
  has(bytes: number): boolean {
    const now = this.#clock.monotonic();
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#at) / 1_000) * this.#perSecond);
    this.#at = now;
    return bytes <= this.#left;
  }

  /** Takes all of it, or nothing where that is more than is left. */
  take(bytes: number): boolean {
    if (!this.has(bytes)) return false;
    this.#left -= bytes;
    return true;
  }
}
