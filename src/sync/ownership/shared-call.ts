/**
 * One call that several wait for. It is stopped when nobody waits for it any more; the last one to leave waits for
 * its end, so that nothing goes on behind a stop.
 */
export class SharedCall<T> {
  readonly #nobodyWaits = new AbortController();
  readonly #answer: Promise<T>;
  #waiting = 0;

  /** @param call must end soon when its signal is aborted */
  constructor(call: (stop: AbortSignal) => Promise<T>) {
    this.#answer = call(this.#nobodyWaits.signal);
    this.#answer.catch(() => {}); // heard by those who wait
  }

  /** Everybody has left: it has no result. */
  get isOver(): boolean {
    return this.#nobodyWaits.signal.aborted;
  }

  /** Resolves when it has ended, however. */
  async settled(): Promise<void> {
    await Promise.allSettled([this.#answer]);
  }

  /** @throws what the call throws; the signal's reason when it is aborted */
  async wait(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const left = Promise.withResolvers<never>();
    const leave = (): void => {
      this.#waiting -= 1;
      if (this.#waiting > 0) left.reject(signal.reason as Error);
      else this.#nobodyWaits.abort(signal.reason);
    };
    this.#waiting += 1;
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await Promise.race([this.#answer, left.promise]);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }
}
