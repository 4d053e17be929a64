import type { RateGroup } from '../../../src/service/rate-groups.ts';
import { requestCounter, WINDOW_MS } from '@research-mirror/sandbox/limits/request-counter';

/**
 * Rate limiters as services have them (docs/design/open-questions.md, "Rate limits"), for tests of the budget.
 * Windows are 60 s; times are milliseconds on any one clock that does not go back.
 */
export interface Limiter {
  /** Judges a request that arrives at `now`. @param group in which the service counts it */
  ask(now: number, group?: RateGroup): Verdict;
}

export interface Verdict {
  readonly accepted: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Until a request would be accepted, at the earliest. */
  readonly retryInMs: number;
}

/** Counts as the emulated service does. @param countedAt moment by the limiter's clock */
function counting(
  kind: Parameters<typeof requestCounter>[0],
  allows: number | ((now: number) => number),
  { countsRefused = false, countedAt = (now: number) => now } = {},
): Limiter {
  const counter = requestCounter(kind);
  return {
    ask(asked) {
      const limit = typeof allows === 'number' ? allows : allows(asked);
      const now = countedAt(asked);
      const before = counter(limit, now);
      const accepted = before.free > 0;
      if (accepted || countsRefused) before.count();
      const { free: remaining, acceptsIn: retryInMs } = counter(limit, now);
      return { accepted, limit, remaining, retryInMs };
    },
  };
}

/** Counts the requests of the last 60 s exactly. @param allows the limit, or the limit at a moment */
export function slidingLog(
  allows: number | ((now: number) => number),
  options: { readonly countsRefused?: boolean } = {},
): Limiter {
  return counting('sliding-log', allows, options);
}

/** Counts by calendar minutes; `offset` shifts them. */
export function fixedWindow(limit: number, offset: number = 0): Limiter {
  return counting('fixed-window', limit, { countedAt: (now) => now + offset });
}

/** Estimates the last 60 s from the counts of two calendar minutes; a refusal asks for a second's wait. */
export function slidingCounter(limit: number): Limiter {
  const counter = counting('sliding-counter', limit);
  return { ask: (now) => ({ ...counter.ask(now), retryInMs: 1_000 }) };
}

/** Refills evenly, `limit` tokens in 60 s, up to `capacity`. */
export function tokenBucket(limit: number, capacity: number = limit): Limiter {
  let [tokens, at] = [capacity, 0];
  return {
    ask(now) {
      tokens = Math.min(capacity, tokens + ((now - at) * limit) / WINDOW_MS);
      at = now;
      // A thousandth of a token is forgiven: the sum of many small refills is not exact.
      const accepted = tokens >= 0.999;
      if (accepted) tokens -= 1;
      return {
        accepted,
        limit,
        remaining: Math.max(0, Math.floor(tokens)),
        retryInMs: ((1 - tokens) * WINDOW_MS) / limit,
      };
    },
  };
}

/** A sliding log of whole seconds: a request counts in its own second and the 60 after it. */
export function wholeSeconds(limit: number): Limiter {
  let log: number[] = [];
  return {
    ask(now) {
      const second = Math.floor(now / 1_000);
      log = log.filter((each) => each >= second - 60);
      const accepted = log.length < limit;
      if (accepted) log.push(second);
      return {
        accepted,
        limit,
        remaining: limit - log.length,
        // Rounded down, as such servers have it: obeyed to the letter it is a second too early.
        retryInMs: ((log[0] ?? second) + 60 - second) * 1_000,
      };
    },
  };
}

/** Both must accept; the headers are those of the one that refuses, else of `inner`. */
export function both(inner: Limiter, outer: Limiter): Limiter {
  return {
    ask(now, group) {
      const first = inner.ask(now, group);
      if (!first.accepted) return first;
      const second = outer.ask(now, group);
      return second.accepted ? first : second;
    },
  };
}

/** Each endpoint group by a limiter of its own. */
export function perGroup(limiterOf: (group: RateGroup) => Limiter): Limiter {
  const limiters = new Map<RateGroup, Limiter>();
  return {
    ask(now, group = 'other') {
      const limiter = limiters.get(group) ?? limiterOf(group);
      limiters.set(group, limiter);
      return limiter.ask(now, group);
    },
  };
}

/** After a refusal everything is refused for `blockMs`. */
export function blocking(limiter: Limiter, blockMs: number): Limiter {
  let blocked: { readonly until: number; readonly verdict: Verdict } | undefined;
  return {
    ask(now, group) {
      if (blocked !== undefined && now < blocked.until) return { ...blocked.verdict, retryInMs: blocked.until - now };
      const verdict = limiter.ask(now, group);
      if (verdict.accepted) return verdict;
      blocked = { until: now + blockMs, verdict };
      return { ...verdict, retryInMs: blockMs };
    },
  };
}

/** The same limiter with another `Remaining` in its headers. */
export function withRemaining(limiter: Limiter, remaining: (honest: number) => number): Limiter {
  return {
    ask(now, group) {
      const verdict = limiter.ask(now, group);
      return { ...verdict, remaining: remaining(verdict.remaining) };
    },
  };
}
