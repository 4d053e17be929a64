import type { Clock } from './clock.ts';

/** An auto-reset event: a ring wakes the waiter; rings without a waiter are remembered as one. */
export class Doorbell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Whether there was a ring since the last wait. */
  get rung(): boolean {
    return this.#rung;
  }

  /** Waits for a ring since the last wait. One waiter at a time. @throws the signal's reason */
  async heard(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    // One closure per wait: a process has thousands of waiters.
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

  /** Like `heard`, for at most `ms` (Infinity: no bound). @returns whether it rang @throws the signal's reason */
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
