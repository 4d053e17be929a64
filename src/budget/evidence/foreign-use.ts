import { FOREIGN_MEMORY_MS, WINDOW_MS } from '../slots/timing.ts';

/** How long others are watched to tell how steady they are, and in which steps that is kept. */
const WATCHED_MS = 2 * WINDOW_MS;
const STEP_MS = 5_000;

/** What was seen of others within a step. */
interface Seen {
  readonly from: number;
  least: number;
  most: number;
}

/**
 * Requests of other users of the key, as `X-RateLimit-Remaining` shows them: (Limit − Remaining) less every request
 * of ours that the server may have counted. The highest value of the last 65 s counts; it is kept as a falling
 * sequence (sliding-window maximum: O(1) a request).
 */
export class ForeignUse {
  readonly #seen: Seen[] = [];
  #lastAt = -Infinity;
  readonly #falling: { readonly at: number; readonly use: number }[] = [];

  observe(at: number, use: number): void {
    this.#forget(at);
    this.#watch(at, Math.max(0, use));
    if (use <= 0) return;
    while ((this.#falling.at(-1)?.use ?? Infinity) <= use) this.#falling.pop();
    this.#falling.push({ at, use });
  }

  highest(now: number): number {
    this.#forget(now);
    return this.#falling[0]?.use ?? 0;
  }

  /** Slots to leave to them. */
  headroom(now: number): number {
    return headroom(this.highest(now), this.#spread(now));
  }

  /** When `highest` falls next; undefined: it is 0. */
  nextChange(now: number): number | undefined {
    this.#forget(now);
    const first = this.#falling[0];
    return first === undefined ? undefined : first.at + FOREIGN_MEMORY_MS;
  }

  clear(): void {
    this.#falling.length = 0;
    this.#seen.length = 0;
  }

  #watch(at: number, use: number): void {
    // What they did meanwhile nobody saw: they are watched anew. One request of ours a window sees enough.
    if (this.#lastAt + FOREIGN_MEMORY_MS < at) this.#seen.length = 0;
    this.#lastAt = at;
    const last = this.#seen.at(-1);
    if (last === undefined || last.from + STEP_MS <= at) this.#seen.push({ from: at, least: use, most: use });
    else {
      last.least = Math.min(last.least, use);
      last.most = Math.max(last.most, use);
    }
    while ((this.#seen[1]?.from ?? Infinity) <= at - WATCHED_MS) this.#seen.shift();
  }

  /** How much their use differed within the last two windows; Infinity: they were not watched for so long. */
  #spread(now: number): number {
    const [first] = this.#seen;
    if (first === undefined || first.from > now - WATCHED_MS) return Infinity;
    return (
      Math.max(...this.#seen.map((each) => each.most)) - Math.min(...this.#seen.map((each) => each.least))
    );
  }

  #forget(now: number): void {
    while (this.#falling[0] !== undefined && this.#falling[0].at + FOREIGN_MEMORY_MS <= now)
      this.#falling.shift();
  }
}

/**
 * Slots to leave to others who used `use` slots of a window: those, and twice the deviation of a Poisson count of that
 * mean, since the next window is another sample, or only as much as two windows differed; and one more against
 * rounding. A steady use of one is how the service counts, and not somebody else's.
 */
export function headroom(use: number, spread: number = Infinity): number {
  if (use <= 0 || (use === 1 && spread <= 1)) return Math.max(0, use);
  return use + Math.min(Math.ceil(2 * Math.sqrt(use)), spread) + 1;
}
