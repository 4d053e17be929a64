import type { Clock } from './clock.ts';

/**
 * A coalescing wake-up signal (an auto-reset event): a ring wakes the waiter, and rings while nobody waits are
 * remembered as one.
 */
export class Doorbell {
  #rung = false;
  #wake: (() => void) | undefined;

  /** Wakes the waiter, or is remembered for the next one. */
  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** True when there was a ring since the last wait. */
  get rung(): boolean {
    return this.#rung;
  }

  /**
   * Waits for the next ring; returns at once if there was one since the last wait. One waiter at a time.
   * @throws the signal's reason when it is aborted
   */
  async heard(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    // One closure a wait: a process has thousands that wait.
    if (!this.#rung) {
      await new Promise<void>((resolve, reject) => {
        const end = (): void => {
          signal.removeEventListener('abort', end);
          this.#wake = undefined;
          if (this.#rung) resolve();
          else reject(signal.reason as Error);
        };
        signal.addEventListener('abort', end, { once: true });
        this.#wake = end;
      });
    }
    this.#rung = false;
  }

  /**
   * Waits for the next ring, or so long (ms; Infinity: for the ring alone).
   * @returns whether it rang
   * @throws the signal's reason when it is aborted
   */
  async heardWithin(ms: number, clock: Pick<Clock, 'sleep'>, signal: AbortSignal): Promise<boolean> {
    if (ms === Number.POSITIVE_INFINITY) {
      await this.heard(signal);
      return true;
    }
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const rung = this.heard(either).then(() => true);
    const slept = clock.sleep(ms, either).then(() => false);
    return Promise.race([rung, slept]).finally(() => over.abort());
  }
}
