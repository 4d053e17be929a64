/** Code that waits or reads the time gets a Clock: tests run on virtual time, and a stop reaches every wait. */
export interface Clock {
  /** Wall clock: milliseconds since the epoch, UTC. May jump. */
  now(): number;
  /** Monotonic clock: milliseconds since an arbitrary time; never goes back. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds. @throws the signal's reason as soon as it is aborted */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Longest timer of Node (2³¹−1 ms); a longer sleep is several timers. */
const MAX_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    let left = Math.max(0, ms);
    do {
      const part = Math.min(left, MAX_TIMER_MS);
      await timer(part, signal);
      left -= part;
    } while (left > 0);
  },
};

function timer(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const onAbort = (): void => {
      clearTimeout(handle);
      reject(signal?.reason as Error);
    };
    const handle = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Source of randomness: a number in [0, 1). Tests give a seeded one. */
export type Random = () => number;
