import { WINDOW_MS } from '../slots/timing.ts';

/** An accepted answer's `X-RateLimit-Remaining`. */
export interface RemainingSample {
  readonly at: number;
  readonly remaining: number;
  /** Use by others that it claims. */
  readonly foreign: number;
}

/** How many identical values in a row make a value suspect. */
export const SUSPECT_REPEATS = 5;
/** Requests so close together must each lower an honest value. */
const BURST_MS = 1_000;
/** A value that does not move for longer measures no window. */
const STILL_MS = 2 * WINDOW_MS;

/**
 * Recognises a `Remaining` that does not count our requests: always 0, another bucket's, a burst allowance
 * (docs/design/rate-limit.md, "Headers"). A value is broken when it is the same
 * - in 5 accepted answers within a second, while no slot of ours came free: each of our requests must have lowered
 *   it;
 * - in 5 successive answers over more than two windows, each claiming that others used the key: a token bucket's
 *   small burst looks so to somebody who waits for it to fill, and would keep us at one request a window for ever.
 */
export class RemainingCheck {
  #same: RemainingSample[] = [];
  #moved = false;

  /** The value has moved, or a 429 has confirmed it. Until then it must leave us requests to find it broken. */
  get tested(): boolean {
    return this.#moved;
  }

  refused(): void {
    this.#moved = true;
  }

  /** @param cameFree whether a slot of ours may have come free at the server between the two moments */
  isBroken(sample: RemainingSample, cameFree: (from: number, to: number) => boolean): boolean {
    if (this.#same[0]?.remaining !== sample.remaining) {
      this.#moved ||= this.#same.length > 0;
      this.#same = [];
    }
    this.#same.push(sample);
    if (this.#same.length < SUSPECT_REPEATS) return false;
    const first = this.#same[this.#same.length - SUSPECT_REPEATS];
    const oldest = this.#same[0];
    if (first === undefined || oldest === undefined) return false;
    const burst = sample.at - first.at <= BURST_MS && !cameFree(first.at - BURST_MS, sample.at);
    const still = sample.at - oldest.at > STILL_MS && this.#same.every((each) => each.foreign > 0);
    // Keeps the oldest, for the span, and the last few, for the burst.
    if (this.#same.length > SUSPECT_REPEATS) this.#same.splice(1, 1);
    return burst || still;
  }

  clear(): void {
    this.#same = [];
  }
}
