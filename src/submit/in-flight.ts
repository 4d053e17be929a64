import type { Clock } from '@research-mirror/runtime/clock';

/** First and longest wait (ms) after an attempt in which nothing was sent; it doubles in between. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/**
 * Most submissions of a group that wait for a slot or are in flight at once: each is written twice in Postgres, and a
 * claim that waits behind too many others comes too late to be sent.
 */
const WIDEST = 32;

/**
 * The submissions of one rate group that wait for a slot or are being sent. They are sent in the order in which they
 * were queued: when one has to go back into the queue, those behind it that still wait go back, too.
 */
export class InFlight {
  readonly #clock: Clock;
  /** By submission: the controller that ends its wait; undefined once it is claimed. */
  readonly #active = new Map<string, AbortController | undefined>();
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Most submissions in flight at once: while nothing can be sent, only one tries. */
  get width(): number {
    return this.#failures > 0 ? 1 : WIDEST;
  }

  /** Whether another may be started now. */
  get hasRoom(): boolean {
    return this.pausedForMs === 0 && this.#active.size < this.width;
  }

  get pausedForMs(): number {
    return Math.max(0, this.#pausedUntil - this.#clock.monotonic());
  }

  /** How long (ms) to wait if the next one can't be sent. */
  get waitMs(): number {
    return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures);
  }

  has(id: string): boolean {
    return this.#active.has(id);
  }

  /** @returns the signal that ends its wait */
  add(id: string): AbortSignal {
    const wait = new AbortController();
    this.#active.set(id, wait);
    return wait.signal;
  }

  /** A pause does not interrupt it from now on. */
  claimed(id: string): void {
    this.#active.set(id, undefined);
  }

  ended(id: string): void {
    this.#active.delete(id);
  }

  /** Starts nothing for `ms`; what waits for a slot goes back into the queue. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + ms);
    for (const wait of this.#active.values()) wait?.abort(new BackInQueue());
  }

  /** Pauses because nothing could be sent, or nobody knows; the next wait is longer. Several at once count as one. */
  failed(ms: number): void {
    if (this.pausedForMs === 0) this.#failures += 1;
    this.pause(ms);
  }

  /** The service answered, and is not in trouble. */
  answered(): void {
    this.#failures = 0;
  }
}

/** Why a wait for a slot ended: the submission is in the queue, and will be fetched again. */
export class BackInQueue extends Error {
  override readonly name = 'BackInQueue';
  constructor() {
    super('back in the queue');
  }
}
