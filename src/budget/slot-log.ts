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

/** Pruned moments after which an array is cut: pruning costs amortised O(1). */
const COMPACT_AT = 1_024;

/**
 * The sliding log of one endpoint group: which of our requests a server may still count. A slot is in use from the
 * sending until the answer + window + guard (docs/design/rate-limit.md, "Slots"). Moments are monotonic milliseconds.
 */
export class SlotLog {
  /** When the server counted ended requests, at the latest; each kind in its own order. */
  readonly #answered = new Moments();
  readonly #unanswered = new Moments();
  readonly #inherited = new Moments();
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
    for (const log of this.#logs()) log.prune(now - MEMORY_MS);
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
    this.#answered.add(at);
  }

  /** No answer came until `at`: the request may reach the server for some time yet. */
  unanswered(at: number): void {
    this.#inFlight -= 1;
    this.#endedAt = at;
    this.#unanswered.add(at + UNANSWERED_MS);
  }

  /** A slot of an earlier process, counted by the server at `at` at the latest. */
  inherit(at: number): void {
    this.#inherited.add(at);
  }

  /** Slots in use. */
  used(now: number): number {
    return this.#countedAfter(now - IN_USE_MS);
  }

  /** When the next slot comes free; Infinity: only requests under way use any. */
  nextFree(now: number): number {
    const after = now - IN_USE_MS;
    return Math.min(...this.#logs().map((log) => log.nextAfter(after) ?? Infinity)) + IN_USE_MS;
  }

  /** Most requests of ours that a server had counted when it judged one sent at `sentAt`; undefined: too long ago. */
  countedAt(sentAt: number, now: number): number | undefined {
    return sentAt - IN_USE_MS < now - MEMORY_MS ? undefined : this.#countedAfter(sentAt - IN_USE_MS);
  }

  #countedAfter(moment: number): number {
    return this.#logs().reduce((sum, log) => sum + log.countAfter(moment), this.#inFlight);
  }

  #logs(): readonly Moments[] {
    return [this.#answered, this.#unanswered, this.#inherited];
  }
}

/**
 * A sorted list of moments that grows at its end and is pruned at its beginning. Counting is a binary search: a limit
 * of a million requests costs hardly more than one of sixty.
 */
export class Moments {
  readonly #all: number[] = [];
  #head = 0;

  /** Cheap for nearly sorted input: a moment is moved past the few later ones. */
  add(moment: number): void {
    let index = this.#all.length;
    while (index > this.#head && (this.#all[index - 1] ?? moment) > moment) index -= 1;
    if (index === this.#all.length) this.#all.push(moment);
    else this.#all.splice(index, 0, moment);
  }

  /** How many moments are later than `moment`. */
  countAfter(moment: number): number {
    return this.#all.length - this.#firstAfter(moment);
  }

  /** The earliest moment later than `moment`. */
  nextAfter(moment: number): number | undefined {
    return this.#all[this.#firstAfter(moment)];
  }

  /** Forgets all moments up to `moment`. */
  prune(moment: number): void {
    while (this.#head < this.#all.length && (this.#all[this.#head] ?? Infinity) <= moment) this.#head += 1;
    if (this.#head > COMPACT_AT && this.#head > this.#all.length / 2) {
      this.#all.splice(0, this.#head);
      this.#head = 0;
    }
  }

  #firstAfter(moment: number): number {
    let [low, high] = [this.#head, this.#all.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#all[middle] ?? Infinity) > moment) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
