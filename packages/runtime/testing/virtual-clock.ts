import type { Clock } from '../src/clock.ts';

const DAY = 86_400_000;

interface Timer {
  readonly due: number;
  readonly fire: () => void;
  cancelled: boolean;
}

/**
 * Time that moves only when a test moves it. Timers fire one at a time, by due time and then in the order in which
 * they were set. After each timer all promise reactions run before time moves on. So a run is deterministic, and an
 * hour takes milliseconds.
 *
 * This clock does not wait for real I/O: code under it talks to objects in memory.
 */
export class VirtualClock implements Clock {
  #monotonic = 0;
  #wall: number;
  /** By due time, then in the order in which they were set; the first one last. */
  readonly #timers: Timer[] = [];

  /** @param start wall clock at the beginning, milliseconds since the epoch */
  constructor(start: number = Date.UTC(2026, 0, 1)) {
    this.#wall = start;
  }

  now(): number {
    return this.#wall + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return;
      }
      const onAbort = (): void => {
        timer.cancelled = true;
        reject(signal?.reason as Error);
      };
      const timer = this.#set(ms, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Calls `action` once, `ms` from now: for a test's emulated surroundings. */
  after(ms: number, action: () => void): void {
    this.#set(ms, action);
  }

  /** Sets the wall clock, as NTP or an operator would; the monotonic clock continues. */
  jumpWall(ms: number): void {
    this.#wall += ms;
  }

  /** Lets `ms` pass, and runs everything that is due meanwhile. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await this.#run(end);
    this.#monotonic = end;
  }

  /** Lets time pass until no timer is left, for at most `limitMs`. @throws when that is not enough */
  async runUntilIdle(limitMs: number = DAY): Promise<void> {
    await this.#run(this.#monotonic + limitMs);
    if (this.#first() !== undefined) throw new Error(`still busy after ${limitMs} ms of virtual time`);
  }

  /** Lets a day pass at most until `promise` is settled, and gives its value. @throws what it throws; when it stays open */
  async runUntil<T>(promise: Promise<T>): Promise<T> {
    const state = { open: true };
    const close = (): void => {
      state.open = false;
    };
    promise.then(close, close);
    await this.#run(this.#monotonic + DAY, () => !state.open);
    if (state.open) throw new Error('the promise did not settle: nothing is due within a day of virtual time');
    return await promise;
  }

  /** Fires what is due by `end`, one after another. */
  async #run(end: number, isOver: () => boolean = () => false): Promise<void> {
    await settled();
    for (let next = this.#first(); next !== undefined && next.due <= end && !isOver(); next = this.#first()) {
      this.#timers.pop();
      this.#monotonic = next.due;
      next.fire();
      await settled();
    }
  }

  #set(ms: number, fire: () => void): Timer {
    const due = this.#monotonic + Math.max(0, ms);
    const timer = { due, fire, cancelled: false };
    const at = this.#timers.findIndex((each) => each.due <= due);
    this.#timers.splice(at === -1 ? this.#timers.length : at, 0, timer);
    return timer;
  }

  /** The next timer; cancelled ones are dropped when they are first. */
  #first(): Timer | undefined {
    while (this.#timers.at(-1)?.cancelled === true) this.#timers.pop();
    return this.#timers.at(-1);
  }
}

/** Resolves when all promise reactions have run: immediates run after them. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
