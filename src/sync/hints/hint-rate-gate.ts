import { PRIORITY, type Priority } from '../../budget/priorities.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import type { ReadingBudget } from './reading-budget.ts';

/** Requests that hints may have at once, after a quiet time. */
const BURST = 5;
/** Part of the budget that hints may take before other readings (docs/design/plan.md, "Hints"). */
const SHARE = 0.5;

/**
 * Token bucket of the requests that hints may send before other readings: half of what the budget allows, so that
 * polls and walks always have the other half. A reading may take more tokens than there are: the next one then waits
 * longer. Moments are milliseconds of one monotonic clock; rates are the budget's, in requests a minute, and may
 * change.
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

/** What one reading of hints may take. */
export interface Allowance {
  readonly priority: Priority;
  /** For known rows, at most: the next reading reads the rest. */
  readonly requests: number;
}

/** Least time (ms) between two readings without tokens. */
const LATE_EVERY_MS = 1_000;

/**
 * When hints may be read: before other readings while the bucket has tokens; else now and then, after them, where
 * nobody waits for a slot (docs/design/plan.md, "Hints"). So a storm takes only what is set aside for it.
 */
export class HintRateGate {
  readonly #bucket: HintBucket;
  readonly #budget: ReadingBudget;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #lastReadAt = Number.NEGATIVE_INFINITY;

  constructor(budget: ReadingBudget, clock: Pick<Clock, 'monotonic'>) {
    this.#budget = budget;
    this.#clock = clock;
    this.#bucket = new HintBucket(clock.monotonic());
  }

  /** The allowance of a reading that begins now; or when (ms) to ask again. */
  next(): Allowance | { readonly waitMs: number } {
    const now = this.#clock.monotonic();
    const perMinute = this.#budget.perMinute();
    const tokens = this.#bucket.tokens(now, perMinute);
    if (tokens > 0) return { priority: PRIORITY.HINT, requests: tokens };
    const lateIn = this.#lastReadAt + LATE_EVERY_MS - now;
    if (lateIn <= 0 && !this.#budget.crowded()) return { priority: PRIORITY.LATE_HINT, requests: 1 };
    const wait = lateIn > 0 ? lateIn : LATE_EVERY_MS;
    return { waitMs: Math.min(wait, this.#bucket.waitMs(now, perMinute)) };
  }

  /** The reading begins: it pays for its first request. */
  begins({ priority }: Allowance): void {
    if (priority === PRIORITY.HINT) this.#bucket.spend(1);
    this.#lastReadAt = this.#clock.monotonic();
  }

  /** The reading sent so many requests: it pays for more than its first one, or gets that one back. */
  took({ priority }: Allowance, requests: number): void {
    if (priority === PRIORITY.HINT) this.#bucket.spend(requests - 1);
  }

  ended(): void {
    this.#lastReadAt = this.#clock.monotonic();
  }
}
