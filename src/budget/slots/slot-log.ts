import { Moments } from './moments.ts';
import { GUARD_MS, UNANSWERED_MS, WIDEST_GUARD_MS, WINDOW_MS } from './timing.ts';

/** Moments are kept for a second window, so that an answer that took long can still be judged. */
const MEMORY_MS = 2 * WINDOW_MS + WIDEST_GUARD_MS;

/**
 * The sliding log of one endpoint group: which of our requests a server may still count. All moments are
 * monotonic milliseconds.
 *
 * A request is counted by the server somewhere between its sending and its answer. So its slot is held from the
 * sending until the answer + window + guard: whatever each request's latency, no window of the server ever sees
 * more requests than slots. (Counted from the sending, 0.8 % are refused: a later request may travel faster.)
 */
export class SlotLog {
  /** Latest moments at which ended requests can have been counted, each kind in its own order. */
  readonly #answered = new Moments();
  readonly #unanswered = new Moments();
  readonly #inherited = new Moments();
  #inFlight = 0;
  #sent = 0;

  /** Requests under way. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests ever sent. */
  get sent(): number {
    return this.#sent;
  }

  start(): void {
    this.#inFlight += 1;
    this.#sent += 1;
  }

  /** The request was not sent after all: no server can have counted it. */
  unsent(): void {
    this.#inFlight -= 1;
    this.#sent -= 1;
  }

  /** @param at when the response's headers arrived */
  answered(at: number): void {
    this.#inFlight -= 1;
    this.#answered.add(at);
  }

  /** No answer came until `at`: the request may reach the server for some time yet. */
  unanswered(at: number): void {
    this.#inFlight -= 1;
    this.#unanswered.add(at + UNANSWERED_MS);
  }

  /** A slot of an earlier process, counted by the server at `at` at the latest. */
  inherit(at: number): void {
    this.#inherited.add(at);
  }

  /** Slots in use. */
  used(now: number, guardMs: number): number {
    return this.#inFlight + this.#endedAfter(now - WINDOW_MS - guardMs);
  }

  /** When the next slot comes free; undefined when none is held but by requests under way. */
  nextFree(now: number, guardMs: number): number | undefined {
    const horizon = now - WINDOW_MS - guardMs;
    const next = Math.min(...this.#logs().map((log) => log.nextAfter(horizon) ?? Infinity));
    return next === Infinity ? undefined : next + WINDOW_MS + guardMs;
  }

  /**
   * The most requests of ours that a server can have counted when it judged a request sent at `sentAt`.
   * Undefined when that is too long ago to tell.
   */
  countedAt(sentAt: number, now: number): number | undefined {
    if (sentAt < now - MEMORY_MS + WINDOW_MS + GUARD_MS) return undefined;
    return this.#inFlight + this.#endedAfter(sentAt - WINDOW_MS - GUARD_MS);
  }

  /** Requests of ours that left the server's window between the two moments, at most. */
  leftWindow(from: number, to: number): number {
    return this.#endedAfter(from - WINDOW_MS - GUARD_MS) - this.#endedAfter(to - WINDOW_MS + GUARD_MS);
  }

  prune(now: number): void {
    for (const log of this.#logs()) log.prune(now - MEMORY_MS);
  }

  #endedAfter(moment: number): number {
    return (
      this.#answered.countAfter(moment) +
      this.#unanswered.countAfter(moment) +
      this.#inherited.countAfter(moment)
    );
  }

  #logs(): readonly Moments[] {
    return [this.#answered, this.#unanswered, this.#inherited];
  }
}
