/** Requests that hints may have at once, after a quiet time. */
export const BURST = 5;
/** Part of the budget that hints may take (docs/design/plan.md, "Hints"). */
const SHARE = 0.5;

/**
 * Token bucket of the requests that hints may send: half of what the budget allows, so that polls and walks always
 * have the other half. A reading may take more tokens than there are: the next one then waits longer. Moments are
 * milliseconds of one monotonic clock; rates are the budget's, in requests a minute, and may change.
 */
export class HintBucket {
  #tokens = BURST;
  #at: number;

  constructor(now: number) {
    this.#at = now;
  }

  /** Whole tokens; 0 also where readings took more than there were. */
  tokens(now: number, perMinute: number): number {
    this.#tokens = Math.min(BURST, this.#tokens + (now - this.#at) * tokensPerMs(perMinute));
    this.#at = now;
    // Sums of fractions: a token that lacks less than a timer can measure is whole.
    return Math.max(0, Math.floor(this.#tokens + 1e-6));
  }

  spend(requests: number): void {
    this.#tokens -= requests;
  }

  /** How long (ms) until there is a token. */
  waitMs(now: number, perMinute: number): number {
    if (this.tokens(now, perMinute) > 0) return 0;
    return Math.ceil((1 - this.#tokens) / tokensPerMs(perMinute));
  }
}

function tokensPerMs(perMinute: number): number {
  return (SHARE * perMinute) / 60_000;
}
