/** The service's window (specification 8.2), milliseconds. */
export const WINDOW_MS = 60_000;

/**
 * Margin for clocks of different speed and for servers that round times. Latency needs none: a slot counts from the
 * *answer*, which came after the server had counted the request.
 */
export const GUARD_MS = 250;

/** From an answer until its slot is free again. */
export const IN_USE_MS = WINDOW_MS + GUARD_MS;

/** A request without an answer may still be on its way to the server: its slot stays in use this much longer. */
export const UNANSWERED_MS = 30_000;

/** Moments are kept for a second window: an answer that took long can then still be judged. */
const MEMORY_MS = 2 * WINDOW_MS;

/** Forgotten moments after which the array is cut: forgetting costs amortised O(1). */
const COMPACT_AT = 1_024;

/**
 * The sliding log of one endpoint group: which of our requests a server may still count. A slot is in use from the
 * sending until the answer + window + guard (docs/design/rate-limit.md, "Slots"). Moments are monotonic milliseconds.
 */
export class SlotLog {
  /** When the server counted ended requests, at the latest, in order; forgotten ones stand before `#head`. */
  readonly #counted: number[] = [];
  #head = 0;
  #inFlight = 0;
  #sent = 0;
  #endedAt = -Infinity;

  /** Requests under way. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests ever sent. */
  get sent(): number {
    return this.#sent;
  }

  /** When the last request ended, with or without an answer. */
  get endedAt(): number {
    return this.#endedAt;
  }

  start(now: number): void {
    this.#forget(now - MEMORY_MS);
    this.#inFlight += 1;
    this.#sent += 1;
  }

  /** The request was not sent after all: no server has counted it. */
  unsent(): void {
    this.#inFlight -= 1;
    this.#sent -= 1;
  }

  /** @param at when the response's headers arrived */
  answered(at: number): void {
    this.#inFlight -= 1;
    this.#endedAt = at;
    this.inherit(at);
  }

  /** No answer came until `at`: the request may reach the server for some time yet. */
  unanswered(at: number): void {
    this.#inFlight -= 1;
    this.#endedAt = at;
    this.inherit(at + UNANSWERED_MS);
  }

  /** A slot that is not under way, of an earlier process for instance, counted by the server at `at` at the latest. */
  inherit(at: number): void {
    this.#counted.splice(this.#firstAfter(at), 0, at);
  }

  /** Slots in use. */
  used(now: number): number {
    return this.#inFlight + this.#inUse(now);
  }

  /** When the next slot comes free; Infinity: only requests under way use any. */
  nextFree(now: number): number {
    return (this.#counted[this.#firstAfter(now, IN_USE_MS)] ?? Infinity) + IN_USE_MS;
  }

  /** Most requests of ours that a server had counted when it judged one sent at `sentAt`; undefined: too long ago. */
  countedAt(sentAt: number, now: number): number | undefined {
    return sentAt - IN_USE_MS < now - MEMORY_MS ? undefined : this.#inFlight + this.#inUse(sentAt);
  }

  #inUse(moment: number): number {
    return this.#counted.length - this.#firstAfter(moment, IN_USE_MS);
  }

  /**
   * Where the first one stands that is later than `moment`, `plus` added to it. The sum is compared, not a difference:
   * both are rounded, and a slot must not be in use and free at once. A binary search: a limit of a million requests costs
   * hardly more than one of sixty.
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
