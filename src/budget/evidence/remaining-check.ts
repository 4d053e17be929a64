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
/** How many of a 0 that has moved before: with a slot now and then, others who take all the rest leave it there, too. */
const REPEATED_ZEROS = 12;
/** After so many over `STILL_MS` we take more slots, to find out. */
const STILL_REPEATS = 3;
/** Requests so close together must each lower an honest value. */
const BURST_MS = 1_000;
/** A value that does not move for longer measures no window. */
const STILL_MS = 2 * WINDOW_MS;
/** By so much our own use must have changed meanwhile. */
const UNMOVED_BY = 3;

/**
 * Recognises a `Remaining` that does not count our requests: always 0, another bucket's, a burst allowance
 * (docs/design/rate-limit.md, "Headers"). A value is broken when it is the same
 * - in 5 accepted answers within a second, while no slot of ours came free: each of our requests must have lowered
 *   it;
 * - in 5 successive answers over more than two windows, each claiming that others used the key: a token bucket's
 *   small burst looks so to somebody who waits for it to fill, and would keep us at one request a window for ever.
 *   Where it has moved before, our own use must have changed meanwhile: others who come evenly, beside requests of
 *   ours that are even, too, leave it where it is. And a 0 must come 12 times, with no 429 between: others who take
 *   every slot leave it at 0.
 */
export class RemainingCheck {
  #same: RemainingSample[] = [];
  #repeats = 0;
  #leastForeign = Infinity;
  #mostForeign = -Infinity;
  #moved = false;
  #still = false;

  /**
   * The value has moved, or a 429 has confirmed it, and it is not still now. Else it must leave us requests to find
   * it broken.
   */
  get tested(): boolean {
    return this.#moved && !this.#still;
  }

  /**
   * The value has moved once, or a 429 has confirmed it: what finds it broken from then on is that it stays while our
   * own use changes, and no burst.
   */
  get moved(): boolean {
    return this.#moved;
  }

  /**
   * A 429: whoever is refused has no slot left, as a `Remaining` of 0 says. So what is unmoved begins anew: somebody who
   * takes every slot leaves it at 0 for as long as he works.
   */
  refused(): void {
    this.clear();
    this.#moved = true;
  }

  /** @param cameFree whether a slot of ours may have come free at the server between the two moments */
  isBroken(sample: RemainingSample, cameFree: (from: number, to: number) => boolean): boolean {
    if (this.#same[0]?.remaining !== sample.remaining) {
      this.#moved ||= this.#same.length > 0;
      this.clear();
    }
    this.#same.push(sample);
    this.#repeats += 1;
    this.#leastForeign = Math.min(this.#leastForeign, sample.foreign);
    this.#mostForeign = Math.max(this.#mostForeign, sample.foreign);
    const oldest = this.#same[0] ?? sample;
    this.#still =
      this.#repeats >= STILL_REPEATS && sample.at - oldest.at > STILL_MS && this.#leastForeign > 0;
    const first = this.#same[this.#same.length - SUSPECT_REPEATS];
    if (first === undefined) return false;
    const burst =
      !this.#moved && sample.at - first.at <= BURST_MS && !cameFree(first.at - BURST_MS, sample.at);
    const unmoved = !this.#moved || this.#mostForeign - this.#leastForeign >= UNMOVED_BY;
    const enough = !this.#moved || sample.remaining > 0 || this.#repeats >= REPEATED_ZEROS;
    // Keeps the oldest, for the span, and the last few, for the burst.
    if (this.#same.length > SUSPECT_REPEATS) this.#same.splice(1, 1);
    return burst || (this.#still && unmoved && enough);
  }

  clear(): void {
    this.#same = [];
    this.#repeats = 0;
    this.#leastForeign = Infinity;
    this.#mostForeign = -Infinity;
    this.#still = false;
  }
}
