/**
 * A coalescing signal: rings while nobody waits are remembered as one. Whoever waits is woken by the next ring.
 */
export class Doorbell {
  #rung = false;
  #wake: (() => void) | undefined;

  /** Wakes the waiter, or is remembered for the next one. */
  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** True when a ring waits to be heard. */
  get rung(): boolean {
    return this.#rung;
  }

  /**
   * Resolves at the next ring, or at once if there was one since the last call. One waiter at a time.
   * @throws the signal's reason when it is aborted
   */
  async heard(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#rung) {
      await new Promise<void>((resolve, reject) => {
        const onAbort = (): void => reject(signal.reason as Error);
        signal.addEventListener('abort', onAbort, { once: true });
        this.#wake = () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        };
      }).finally(() => {
        this.#wake = undefined;
      });
    }
    this.#rung = false;
  }
}
