import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { requestCounter, type CounterState, type RequestCounter } from './request-counter.ts';

/** Endpoint groups of specification 8.2. */
export type Group = 'clay' | 'research' | 'heavy' | 'sequence' | 'other';

export interface Verdict {
  readonly allowed: boolean;
  /** Values of `X-RateLimit-Limit` and `-Remaining`; the limit is UNLIMITED where it is off. */
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds from now. */
  readonly resetIn: number;
  readonly acceptsIn: number;
}

/** The limit in the headers where there is none. */
const UNLIMITED = 1_000_000;
const UNCOUNTED: CounterState = { free: UNLIMITED, resetIn: 0, acceptsIn: 0, count: () => {} };

const LIMIT_OF = {
  clay: 'limitClay',
  research: 'limitResearch',
  heavy: 'limitHeavy',
  sequence: 'limitSequence',
  other: 'limitOther',
} as const satisfies Record<Group, keyof SandboxOptions>;

/** The verdict on a request without a known key, which is not counted. */
export function uncountedVerdict(group: Group, options: SandboxOptions): Verdict {
  const own = options[LIMIT_OF[group]];
  const limit = options.limits === 'off' || own === 'off' ? UNLIMITED : own;
  return { allowed: true, limit, remaining: limit, resetIn: 0, acceptsIn: 0 };
}

/** Accepts or refuses the requests of all keys. */
export class RateLimiter {
  readonly #counters = new Map<string, RequestCounter>();

  /**
   * Accepts or refuses one request. An accepted one is counted; a refused one only where `countRefused` is on.
   * @param now milliseconds of a monotonic clock
   */
  admit(key: string, group: Group, route: string, options: SandboxOptions, now: number): Verdict {
    const place = options.limitScope === 'group' ? group : route;
    const own = () => this.#state(`${key} ${place}`, options[LIMIT_OF[group]], options, now);
    const counters = [own(), this.#state(`${key} *`, options.limitGlobal, options, now)];
    const allowed = counters.every(({ free }) => free > 0);
    const acceptsIn = Math.max(...counters.map((counter) => counter.acceptsIn));
    if (allowed || options.countRefused === 'on') for (const counter of counters) counter.count();
    const { free: remaining, resetIn } = own();
    return { ...uncountedVerdict(group, options), allowed, remaining, resetIn, acceptsIn };
  }

  /** Clears all counts. */
  clear(): void {
    this.#counters.clear();
  }

  #state(name: string, limit: number | 'off', options: SandboxOptions, now: number): CounterState {
    if (limit === 'off' || options.limits === 'off') return UNCOUNTED;
    const full = `${options.limiter} ${name}`;
    const counter = this.#counters.get(full) ?? requestCounter(options.limiter);
    this.#counters.set(full, counter);
    return counter(limit, now);
  }
}

/**
 * The headers of specification 8.2, in the spelling of the switches.
 * @param wall epoch milliseconds
 */
export function rateHeaders(verdict: Verdict, options: SandboxOptions, wall: number): Record<string, string> {
  const { allowed, limit, remaining, resetIn, acceptsIn } = verdict;
  const resets: Readonly<Record<SandboxOptions['reset'], string | undefined>> = {
    'epoch-s': String(Math.ceil((wall + resetIn) / 1000)),
    'epoch-ms': String(Math.ceil(wall + resetIn)),
    'delta-s': String(Math.ceil(resetIn / 1000)),
    iso: new Date(wall + resetIn).toISOString(),
    missing: undefined,
  };
  const retries: Readonly<Record<SandboxOptions['retryAfter'], string | undefined>> = {
    seconds: String(Math.max(1, Math.ceil(acceptsIn / 1000))),
    decimal: (Math.ceil(acceptsIn) / 1000).toFixed(3),
    // Whole seconds, rounded up: an obedient client is never early.
    'http-date': new Date(Math.ceil((wall + acceptsIn) / 1000) * 1000).toUTCString(),
    // A day: too long to obey.
    huge: '86400',
    missing: undefined,
  };
  const headers: Record<string, string> = { 'X-RateLimit-Limit': String(limit) };
  if (options.remaining === 'exact') headers['X-RateLimit-Remaining'] = String(remaining);
  if (options.remaining === 'constant') headers['X-RateLimit-Remaining'] = String(limit - 1);
  const reset = resets[options.reset];
  if (reset !== undefined) headers['X-RateLimit-Reset'] = reset;
  const retry = allowed ? undefined : retries[options.retryAfter];
  if (retry !== undefined) headers['Retry-After'] = retry;
  return headers;
}
