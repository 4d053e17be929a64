/** A bounded number of places. Callers that find none free wait in order. */
export class Places {
  #free: number;
  readonly #waiting = new Set<PromiseWithResolvers<void>>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Waits for a place. @returns gives it up; safe to call twice @throws what `refuse` is given; the signal's reason */
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

  /** Rejects all present waits. */
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

  #giveUp(): void {
    const [longest] = this.#waiting;
    if (longest === undefined) this.#free += 1;
    else {
      this.#waiting.delete(longest);
      longest.resolve();
    }
  }
}
