export interface TakeOptions {
  readonly signal?: AbortSignal;
  /** Before all who are not. */
  readonly urgent?: boolean;
}

type Line = Set<PromiseWithResolvers<void>>;

/** A bounded number of places. Who finds none free waits, in the order of the calls, urgent ones first. */
export class Places {
  #free: number;
  readonly #urgent: Line = new Set();
  readonly #waiting: Line = new Set();

  constructor(count: number) {
    this.#free = count;
  }

  /**
   * Waits for a place, however long that takes.
   * @returns gives the place up; safe to call twice
   * @throws what `refuse` is given; the signal's reason
   */
  async take({ signal, urgent = false }: TakeOptions = {}): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#waitIn(urgent ? this.#urgent : this.#waiting, signal);
    let taken = true;
    return () => {
      if (taken) this.#giveUp();
      taken = false;
    };
  }

  /** All who wait now get the error; who comes later waits again. */
  refuse(error: unknown): void {
    const waiting = [...this.#urgent, ...this.#waiting];
    this.#urgent.clear();
    this.#waiting.clear();
    for (const each of waiting) each.reject(error);
  }

  async #waitIn(line: Line, signal: AbortSignal | undefined): Promise<void> {
    const turn = Promise.withResolvers<void>();
    const onAbort = (): void => {
      if (line.delete(turn)) turn.reject(signal?.reason);
    };
    line.add(turn);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await turn.promise;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** The place goes to who has waited longest. */
  #giveUp(): void {
    const line = this.#urgent.size > 0 ? this.#urgent : this.#waiting;
    const [next] = line;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    line.delete(next);
    next.resolve();
  }
}
