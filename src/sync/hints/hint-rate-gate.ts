import { PRIORITY, type Priority } from '../../budget/priorities.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { HintBucket } from './hint-bucket.ts';
import type { ReadingBudget } from './reading-budget.ts';

/** How one reading of hints may go. */
export interface Allowance {
  readonly priority: Priority;
  /** Of reading known rows again, at most: the rest is another reading's. */
  readonly requests: number;
}

/** Least time (ms) between two readings beyond the hints' part of the budget. */
const LATE_EVERY_MS = 1_000;

/**
 * When hints may be read: before all that is due while their bucket has tokens; else, now and then, after all that is
 * due, where nobody waits for a slot (docs/design/plan.md, "Hints"). So a storm takes nothing from anybody but what is set aside for it.
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

  /** For a reading that begins now; or when (ms) to ask again. */
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

  /** The reading begins: its first request is paid for. */
  begins({ priority }: Allowance): void {
    if (priority === PRIORITY.HINT) this.#bucket.spend(1);
    this.#lastReadAt = this.#clock.monotonic();
  }

  /** What the reading took at the permit's priority: more than its first request is owed, that one not sent is given back. */
  took({ priority }: Allowance, requests: number): void {
    if (priority === PRIORITY.HINT) this.#bucket.spend(requests - 1);
  }

  ended(): void {
    this.#lastReadAt = this.#clock.monotonic();
  }
}
