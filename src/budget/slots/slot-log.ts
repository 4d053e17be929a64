import { earliest, Moments } from './moments.ts';
import { GUARD_MS, UNANSWERED_MS, WIDEST_GUARD_MS, WINDOW_MS } from './timing.ts';

/** Moments are kept for a second window: an answer that took long can then still be judged. */
const MEMORY_MS = 2 * WINDOW_MS + WIDEST_GUARD_MS;

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

  /** The request was not sent after all: no server has counted it. */
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

  /** When the next slot comes free; undefined: only requests under way use any. */
  nextFree(now: number, guardMs: number): number | undefined {
    const window = WINDOW_MS + guardMs;
    const next = earliest(...this.#logs().map((log) => log.nextAfter(now - window)));
    return next === undefined ? undefined : next + window;
  }

  /** Most requests of ours that a server had counted when it judged one sent at `sentAt`; undefined: too long ago. */
  countedAt(sentAt: number, now: number): number | undefined {
    if (sentAt < now - MEMORY_MS + WINDOW_MS + GUARD_MS) return undefined;
    return this.#inFlight + this.#endedAfter(sentAt - WINDOW_MS - GUARD_MS);
  }

  /** Most requests of ours that left the server's window between the two moments. */
  leftWindow(from: number, to: number): number {
    return this.#endedAfter(from - WINDOW_MS - GUARD_MS) - this.#endedAfter(to - WINDOW_MS + GUARD_MS);
  }

  prune(now: number): void {
    for (const log of this.#logs()) log.prune(now - MEMORY_MS);
  }

  #endedAfter(moment: number): number {
    return this.#logs().reduce((sum, log) => sum + log.countAfter(moment), 0);
  }

  #logs(): readonly Moments[] {
    return [this.#answered, this.#unanswered, this.#inherited];
  }
}
