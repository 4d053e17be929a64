/** The service's window (specification 8.2), ms. */
export const WINDOW_MS = 60_000;
/** Margin (ms) for clocks of other speed and servers that round. Latency needs none: a slot counts from the answer. */
export const GUARD_MS = 250;
/** From an answer until its slot is free again, ms. */
export const IN_USE_MS = WINDOW_MS + GUARD_MS;
/** The slot of a request without an answer stays in use this much longer (ms): the request may still arrive. */
export const UNANSWERED_MS = 30_000;
/** Moments are kept for a second window (ms): an answer that took long can then still be judged. */
const MEMORY_MS = 2 * WINDOW_MS;
/** Forgotten moments after which the array is cut: forgetting costs amortised O(1). */
const COMPACT_AT = 1_024;

/**
 * The sliding log of one endpoint group: which of our requests a server may still count. A slot is in use from the
 * sending until the answer + window + guard (docs/design/rate-limit.md, "Slots"). Moments are monotonic ms.
 */
export class SlotLog {
  inFlight = 0;
  sent = 0;
  /** When the last request ended, with or without an answer. */
  endedAt = -Infinity;
  /** The latest moments at which the server counted ended requests, in order; those before `#head` are forgotten. */
  readonly #counted: number[] = [];
  #head = 0;

  start(now: number): void {
    this.#forget(now - MEMORY_MS);
    this.inFlight += 1;
    this.sent += 1;
  }

  /** The request was not sent after all: no server has counted it. */
  unsent(): void {
    this.inFlight -= 1;
    this.sent -= 1;
  }

  /** No answer came until `at`. */
  unanswered(at: number): void {
    this.answered(at, at + UNANSWERED_MS);
  }

  /** @param at when the response's headers arrived @param countedAt when the server counted it, at the latest */
  answered(at: number, countedAt: number = at): void {
    this.inFlight -= 1;
    this.endedAt = at;
    this.inherit(countedAt);
  }

  /** Adds a slot that is not under way, such as an earlier process's; the server counted it at `at` at the latest. */
  inherit(at: number): void {
    this.#counted.splice(this.#firstAfter(at), 0, at);
  }

  used(now: number): number {
    return this.inFlight + this.#inUse(now);
  }

  /** When the next slot comes free; Infinity if only requests under way use any. */
  nextFree(now: number): number {
    return (this.#counted[this.#firstAfter(now, IN_USE_MS)] ?? Infinity) + IN_USE_MS;
  }

  /** Most requests of ours that a server had counted when it judged one sent at `sentAt`; undefined: too long ago. */
  countedAt(sentAt: number, now: number): number | undefined {
    return sentAt - IN_USE_MS < now - MEMORY_MS ? undefined : this.inFlight + this.#inUse(sentAt);
  }

  #inUse(moment: number): number {
    return this.#counted.length - this.#firstAfter(moment, IN_USE_MS);
  }

  /**
   * Index of the first counted moment that is later than `moment` when `plus` is added to it. A difference in place of
   * the sum is rounded otherwise: a slot could be in use and free at once. Binary, since a limit may be a million.
   */
  #firstAfter(moment: number, plus = 0): number {
    let [low, high] = [this.#head, this.#counted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#counted[middle] ?? Infinity) + plus > moment) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #forget(moment: number): void {
    this.#head = this.#firstAfter(moment);
    if (this.#head <= COMPACT_AT || this.#head <= this.#counted.length / 2) return;
    this.#counted.splice(0, this.#head);
    this.#head = 0;
  }
}
