/** A bounded number of places. Who finds none free waits, in the order of the calls. */
export class Places {
  #free: number;
  readonly #waiting = new Set<PromiseWithResolvers<void>>();

  constructor(count: number) {
    this.#free = count;
  }

  /**
   * Waits for a place, however long that takes.
   * @returns gives the place up; safe to call twice
   * @throws what `refuse` is given; the signal's reason
   */
  async take(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    let taken = true;
    return () => {
      if (taken) this.#giveUp();
      taken = false;
    };
  }

  /** All who wait now get the error; who comes later waits again. */
  refuse(error: unknown): void {
    for (const each of this.#waiting) each.reject(error);
    this.#waiting.clear();
  }

  async #turn(signal: AbortSignal | undefined): Promise<void> {
    const turn = Promise.withResolvers<void>();
    const onAbort = (): void => {
      if (this.#waiting.delete(turn)) turn.reject(signal?.reason);
    };
    this.#waiting.add(turn);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await turn.promise;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** The place goes to who has waited longest. */
  #giveUp(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next.resolve();
  }
}
