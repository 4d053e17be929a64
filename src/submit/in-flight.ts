import type { Clock } from '@research-mirror/runtime/clock';

/** First and longest wait, milliseconds, after an attempt of which nothing could be sent; it doubles in between. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/**
 * The most submissions of a group that wait or are under way at once, whatever its limit: each is written twice in
 * Postgres, and a claim that waits behind too many others comes too late to be sent.
 */
const WIDEST = 32;

/**
 * The submissions of one rate group that wait for a slot or are under way. They go in the order in which they were
 * queued: when one has to go back into the queue, those behind it that still wait go back, too.
 */
export class InFlight {
  readonly #clock: Clock;
  readonly #sizeOf: () => number;
  /** By submission; the controller ends its wait, until it is claimed. */
  readonly #active = new Map<string, AbortController | undefined>();
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #failures = 0;

  /** @param sizeOf how many requests the group's budget allows in 60 s */
  constructor(clock: Clock, sizeOf: () => number) {
    this.#clock = clock;
    this.#sizeOf = sizeOf;
  }

  /** How many wait or are under way at once, at most: while nothing can be sent, one alone tries. */
  get width(): number {
    return this.#failures > 0 ? 1 : Math.min(WIDEST, this.#sizeOf());
  }

  /** Whether one more may be started now. */
  get hasRoom(): boolean {
    return this.pausedForMs === 0 && this.#active.size < this.width;
  }

  get pausedForMs(): number {
    return Math.max(0, this.#pausedUntil - this.#clock.monotonic());
  }

  /** How long to wait, should nothing of the next one be sent. */
  get waitMs(): number {
    return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures);
  }

  has(id: string): boolean {
    return this.#active.has(id);
  }

  /** @returns what ends its wait */
  add(id: string): AbortSignal {
    const wait = new AbortController();
    this.#active.set(id, wait);
    return wait.signal;
  }

  /** From now on it ends by itself. */
  claimed(id: string): void {
    this.#active.set(id, undefined);
  }

  ended(id: string): void {
    this.#active.delete(id);
  }

  /** Nothing is started for `ms`; what waits for a slot goes back into the queue. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + ms);
    for (const wait of this.#active.values()) wait?.abort(new BackInQueue());
  }

  /** Nothing could be sent, or nobody knows: as `hold`, and longer the next time. Several at once are one failure. */
  failed(ms: number): void {
    if (this.pausedForMs === 0) this.#failures += 1;
    this.pause(ms);
  }

  /** The service answered, and is not in trouble. */
  answered(): void {
    this.#failures = 0;
  }
}

/** Why a wait for a slot ended: it will be fetched again. */
export class BackInQueue extends Error {
  override readonly name = 'BackInQueue';
  constructor() {
    super('back in the queue');
  }
}
