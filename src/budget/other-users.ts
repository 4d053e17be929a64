import { WINDOW_MS } from './slot-log.ts';

/** How long others' use counts after it was seen: a window and the time that an answer may take. */
const SEEN_MS = 65_000;

/** A value that stays for so long, in so many answers, counts nothing: it is ignored for an hour. */
const STUCK = { ms: 2 * WINDOW_MS, answers: 5, ignoredMs: 3_600_000 } as const;

/** By so much our own use must have changed meanwhile, where the value is not 0. */
const OWN_CHANGE = 3;

/**
 * Other users of the key, as `X-RateLimit-Remaining` shows them: (`Limit` − `Remaining`) less every request of ours
 * that the service may have counted. The highest use of the last 65 s counts; it is kept as a falling sequence
 * (sliding-window maximum: O(1) a request).
 */
export class OtherUsers {
  readonly #falling: { readonly at: number; readonly use: number }[] = [];
  /** Since when `Remaining` has one value, and what our own use was meanwhile. */
  #same = { remaining: -1, since: 0, answers: 0, leastOurs: 0, mostOurs: 0 };
  /** Where `Remaining` stayed when it was ignored: until it is above that once, it counts nothing. */
  #stuckAt = -1;
  /** `Remaining` is not believed until then. */
  ignoredUntil = -Infinity;

  /**
   * An accepted answer's `Remaining`, not above its `Limit`.
   * @param ours most requests of ours that the service may have counted when it answered
   * @returns whether it is ignored from now on
   */
  observe(limit: number, remaining: number, ours: number, now: number): boolean {
    if (remaining > this.#stuckAt) this.#stuckAt = -1;
    if (this.ignoredUntil > now) return false;
    const use = limit - remaining - ours;
    const stillStuck = use > 0 && this.#stuckAt >= 0;
    if (stillStuck || (this.#isStuck(remaining, ours, now) && this.highest(now) > 0)) {
      this.ignoredUntil = now + STUCK.ignoredMs;
      this.#stuckAt = Math.max(this.#stuckAt, remaining);
      this.#falling.length = 0;
      this.#same.remaining = -1;
      return true;
    }
    if (use <= 0) return false;
    while ((this.#falling.at(-1)?.use ?? Infinity) <= use) this.#falling.pop();
    this.#falling.push({ at: now, use });
    return false;
  }

  /** A 429 says that no slot is left, as a `Remaining` of 0 does: the value counts something. */
  refused(): void {
    this.#same.remaining = -1;
  }

  highest(now: number): number {
    while ((this.#falling[0]?.at ?? Infinity) + SEEN_MS <= now) this.#falling.shift();
    return this.#falling[0]?.use ?? 0;
  }

  /** Slots to leave to them: what they used, and a margin, since their next window is another sample. */
  headroom(now: number): number {
    const use = this.highest(now);
    return use === 0 ? 0 : use + Math.ceil(Math.sqrt(use)) + 1;
  }

  /** When `highest` falls next; Infinity: it is 0. */
  nextChange(now: number): number {
    return this.highest(now) === 0 ? Infinity : (this.#falling[0]?.at ?? Infinity) + SEEN_MS;
  }

  #isStuck(remaining: number, ours: number, now: number): boolean {
    if (this.#same.remaining !== remaining)
      this.#same = { remaining, since: now, answers: 0, leastOurs: ours, mostOurs: ours };
    const same = this.#same;
    same.answers += 1;
    same.leastOurs = Math.min(same.leastOurs, ours);
    same.mostOurs = Math.max(same.mostOurs, ours);
    const ownChanged = same.mostOurs - same.leastOurs >= OWN_CHANGE;
    return same.answers >= STUCK.answers && now - same.since >= STUCK.ms && (remaining === 0 || ownChanged);
  }
}
