import type { SandboxOptions } from '../switches/sandbox-switches.ts';

/** Window of all limits (specification 8.2). */
export const WINDOW_MS = 60_000;

/** What a counter says at one time. */
export interface CounterState {
  /** How many more requests would be accepted now. */
  readonly free: number;
  /** Milliseconds until the oldest counted request leaves the window; 0 where none is counted. */
  readonly resetIn: number;
  /** Milliseconds until a request would be accepted, when none is counted before. */
  readonly acceptsIn: number;
  /** Counts one request now. */
  count(): void;
}

/**
 * Counts the requests of one key and group. Times are milliseconds of one monotonic clock. Each call gives the limit,
 * which may change while the sandbox runs.
 */
export type RequestCounter = (limit: number, now: number) => CounterState;

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
  return (limit, now) => {
    const first = log.findIndex((at) => at > now - WINDOW_MS);
    if (first !== 0) log = first === -1 ? [] : log.slice(first);
    const leavesIn = (at: number | undefined): number => (at === undefined ? 0 : at + WINDOW_MS - now);
    return {
      free: Math.max(0, limit - log.length),
      resetIn: leavesIn(log[0]),
      acceptsIn: leavesIn(log[log.length - limit]),
      count: () => void log.push(now),
    };
  };
}

/** Two fixed windows; the older one is weighted by the part that a sliding window still covers. */
function slidingCounter(): RequestCounter {
  let [window, before, current] = [0, 0, 0];
  return (limit, now) => {
    const index = Math.floor(now / WINDOW_MS);
    if (index !== window) [window, before, current] = [index, index === window + 1 ? current : 0, 0];
    const elapsed = now / WINDOW_MS - index;
    const used = before * (1 - elapsed) + current;
    let accepts = 0;
    if (current + 1 > limit) accepts = 2 - elapsed - (limit - 1) / current;
    else if (used + 1 > limit) accepts = 1 - (limit - 1 - current) / before - elapsed;
    return {
      free: Math.max(0, Math.floor(limit - used)),
      resetIn: used === 0 ? 0 : WINDOW_MS * (1 - elapsed),
      acceptsIn: WINDOW_MS * accepts,
      count: () => void (current += 1),
    };
  };
}

/** Each full minute starts a new count: up to twice the limit is accepted around it. */
function fixedWindow(): RequestCounter {
  let [window, current] = [0, 0];
  return (limit, now) => {
    const index = Math.floor(now / WINDOW_MS);
    if (index !== window) [window, current] = [index, 0];
    const resetIn = (index + 1) * WINDOW_MS - now;
    return {
      free: Math.max(0, limit - current),
      resetIn,
      acceptsIn: current < limit ? 0 : resetIn,
      count: () => void (current += 1),
    };
  };
}

/** A bucket of `limit` tokens that refills evenly within a window. */
function tokenBucket(): RequestCounter {
  let [spent, at] = [0, 0];
  return (limit, now) => {
    spent = Math.max(0, spent - ((now - at) * limit) / WINDOW_MS);
    at = now;
    return {
      free: Math.max(0, Math.floor(limit - spent + 1e-9)),
      resetIn: (spent * WINDOW_MS) / limit,
      acceptsIn: (Math.max(0, spent + 1 - limit) * WINDOW_MS) / limit,
      count: () => void (spent = Math.min(limit, spent + 1)),
    };
  };
}
