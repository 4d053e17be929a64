import { PRIORITY, type Priority } from '../../budget/priorities.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { HintBucket } from './hint-bucket.ts';
import type { ReadingBudget } from './reading-budget.ts';

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
