import { FOREIGN_MEMORY_MS } from '../slots/timing.ts';

/**
 * Requests of other users of the key, as `X-RateLimit-Remaining` shows them: (Limit − Remaining) less every request
 * of ours that the server may have counted. The highest value of the last 65 s counts; it is kept as a falling
 * sequence (sliding-window maximum: O(1) a request).
 */
export class ForeignUse {
  readonly #falling: { readonly at: number; readonly use: number }[] = [];

  observe(at: number, use: number): void {
    this.#forget(at);
    if (use <= 0) return;
    while ((this.#falling.at(-1)?.use ?? Infinity) <= use) this.#falling.pop();
    this.#falling.push({ at, use });
  }

  highest(now: number): number {
    this.#forget(now);
    return this.#falling[0]?.use ?? 0;
  }

  /** When `highest` falls next; undefined: it is 0. */
  nextChange(now: number): number | undefined {
    this.#forget(now);
    const first = this.#falling[0];
    return first === undefined ? undefined : first.at + FOREIGN_MEMORY_MS;
  }

  clear(): void {
    this.#falling.length = 0;
  }

  #forget(now: number): void {
    while (this.#falling[0] !== undefined && this.#falling[0].at + FOREIGN_MEMORY_MS <= now)
      this.#falling.shift();
  }
}

/**
 * Slots to leave to others who used `use` slots of a window: those, twice the deviation of a Poisson count of that
 * mean (the next window is another sample), and one more against rounding.
 */
export function headroom(use: number): number {
  return use <= 0 ? 0 : use + Math.ceil(2 * Math.sqrt(use)) + 1;
}
