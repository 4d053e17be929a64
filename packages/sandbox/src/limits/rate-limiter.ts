import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { requestCounter, type RequestCounter } from './request-counter.ts';

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
    const own = options[LIMIT_OF[group]];
    const lifted = options.limits === 'off' || own === 'off';
    const limit = lifted ? UNLIMITED : own;
    const place = options.limitScope === 'group' ? group : route;
    const groupCounter = lifted ? undefined : this.#requestCounter(`${key} ${place}`, options);
    const globalLimit = options.limits === 'off' ? 'off' : options.limitGlobal;
    const globalCounter = globalLimit === 'off' ? undefined : this.#requestCounter(`${key} *`, options);

    const free = groupCounter?.free(limit, now) ?? UNLIMITED;
    const globallyFree = globalLimit === 'off' ? UNLIMITED : (globalCounter?.free(globalLimit, now) ?? 0);
    const allowed = free > 0 && globallyFree > 0;
    const acceptsIn = Math.max(
      groupCounter?.acceptsIn(limit, now) ?? 0,
      globalLimit === 'off' ? 0 : (globalCounter?.acceptsIn(globalLimit, now) ?? 0),
    );
    if (allowed || options.countRefused === 'on') {
      groupCounter?.count(limit, now);
      if (globalLimit !== 'off') globalCounter?.count(globalLimit, now);
    }
    const remaining = groupCounter?.free(limit, now) ?? UNLIMITED;
    return { allowed, limit, remaining, resetIn: groupCounter?.resetIn(limit, now) ?? 0, acceptsIn };
  }

  /** Clears all counts. */
  clear(): void {
    this.#counters.clear();
  }

  #requestCounter(name: string, options: SandboxOptions): RequestCounter {
    const full = `${options.limiter} ${name}`;
    let found = this.#counters.get(full);
    if (found === undefined) {
      found = requestCounter(options.limiter);
      this.#counters.set(full, found);
    }
    return found;
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
