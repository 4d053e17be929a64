import type { SandboxOptions } from '../switches/sandbox-switches.ts';

/** Window of all limits (specification 8.2). */
export const WINDOW_MS = 60_000;

/**
 * Counts the requests of one key and group. Times are milliseconds of one monotonic clock. Each call gives the limit,
 * which may change while the sandbox runs.
 */
export interface RequestCounter {
  /** How many more requests would be accepted now. */
  free(limit: number, now: number): number;
  /** Counts one request. */
  count(limit: number, now: number): void;
  /** Milliseconds until the oldest counted request leaves the window; 0 where none is counted. */
  resetIn(limit: number, now: number): number;
  /** Milliseconds until a request would be accepted, when none is counted before. */
  acceptsIn(limit: number, now: number): number;
}

export function requestCounter(kind: SandboxOptions['limiter']): RequestCounter {
  switch (kind) {
    case 'sliding-log':
      return slidingLog();
    case 'sliding-counter':
      return slidingCounter();
    case 'fixed-window':
      return fixedWindow();
    case 'token-bucket':
      return tokenBucket();
  }
}

/** The strictest: no 60 s have more than `limit` accepted requests. */
function slidingLog(): RequestCounter {
  let log: number[] = [];
  const inWindow = (now: number): number[] => {
    const first = log.findIndex((at) => at > now - WINDOW_MS);
    log = first === -1 ? [] : first === 0 ? log : log.slice(first);
    return log;
  };
  return {
    free: (limit, now) => Math.max(0, limit - inWindow(now).length),
    count(_limit, now) {
      log.push(now);
    },
    resetIn(_limit, now) {
      const oldest = inWindow(now)[0];
      return oldest === undefined ? 0 : oldest + WINDOW_MS - now;
    },
    acceptsIn(limit, now) {
      const counted = inWindow(now);
      const blocking = counted[counted.length - limit];
      return blocking === undefined ? 0 : blocking + WINDOW_MS - now;
    },
  };
}

/** Two fixed windows; the older one is weighted by the part that a sliding window still covers. */
function slidingCounter(): RequestCounter {
  let [window, before, current] = [0, 0, 0];
  const roll = (now: number): number => {
    const index = Math.floor(now / WINDOW_MS);
    if (index !== window) [window, before, current] = [index, index === window + 1 ? current : 0, 0];
    return now / WINDOW_MS - index;
  };
  const used = (now: number): number => {
    const elapsed = roll(now);
    return before * (1 - elapsed) + current;
  };
  return {
    free: (limit, now) => Math.max(0, Math.floor(limit - used(now))),
    count(_limit, now) {
      roll(now);
      current += 1;
    },
    resetIn: (_limit, now) => (used(now) === 0 ? 0 : WINDOW_MS * (1 - roll(now))),
    acceptsIn(limit, now) {
      const elapsed = roll(now);
      if (used(now) + 1 <= limit) return 0;
      if (current + 1 <= limit) return WINDOW_MS * (1 - (limit - 1 - current) / before - elapsed);
      return WINDOW_MS * (2 - elapsed - (limit - 1) / current);
    },
  };
}

/** Each full minute starts a new count: up to twice the limit is accepted around it. */
function fixedWindow(): RequestCounter {
  let [window, current] = [0, 0];
  const rest = (now: number): number => {
    const index = Math.floor(now / WINDOW_MS);
    if (index !== window) [window, current] = [index, 0];
    return (index + 1) * WINDOW_MS - now;
  };
  return {
    free(limit, now) {
      rest(now);
      return Math.max(0, limit - current);
    },
    count(_limit, now) {
      rest(now);
      current += 1;
    },
    resetIn: (_limit, now) => rest(now),
    acceptsIn(limit, now) {
      const ends = rest(now);
      return current < limit ? 0 : ends;
    },
  };
}

/** A bucket of `limit` tokens that refills evenly within a window. */
function tokenBucket(): RequestCounter {
  let [spent, at] = [0, 0];
  const refill = (limit: number, now: number): number => {
    spent = Math.max(0, spent - ((now - at) * limit) / WINDOW_MS);
    at = now;
    return spent;
  };
  return {
    free: (limit, now) => Math.max(0, Math.floor(limit - refill(limit, now) + 1e-9)),
    count(limit, now) {
      spent = Math.min(limit, refill(limit, now) + 1);
    },
    resetIn: (limit, now) => (refill(limit, now) * WINDOW_MS) / limit,
    acceptsIn: (limit, now) => (Math.max(0, refill(limit, now) + 1 - limit) * WINDOW_MS) / limit,
  };
}
