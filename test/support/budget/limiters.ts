/**
 * Rate limiters as services have them (docs/design/open-questions.md, "Rate limits"), for tests of the budget.
 * Windows are 60 s; times are milliseconds on any one clock that does not go back.
 */
export interface Limiter {
  /** Judges a request that arrives at `now`. */
  ask(now: number): Verdict;
}

export interface Verdict {
  readonly accepted: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Until a request would be accepted, at the earliest. */
  readonly retryInMs: number;
}

const WINDOW_MS = 60_000;

/** Counts the requests of the last 60 s exactly. @param allows the limit, or the limit at a moment */
export function slidingLog(
  allows: number | ((now: number) => number),
  options: { readonly countsRefused?: boolean } = {},
): Limiter {
  let log: number[] = [];
  return {
    ask(now) {
      const limit = typeof allows === 'number' ? allows : allows(now);
      log = log.filter((each) => each > now - WINDOW_MS);
      const accepted = log.length < limit;
      if (accepted || options.countsRefused === true) log.push(now);
      const oldest = log[Math.max(0, log.length - limit)] ?? now;
      return {
        accepted,
        limit,
        remaining: Math.max(0, limit - log.length),
        retryInMs: oldest + WINDOW_MS - now,
      };
    },
  };
}

/** Counts by calendar minutes; `offset` shifts them. */
export function fixedWindow(limit: number, offset: number = 0): Limiter {
  let [window, count] = [-1, 0];
  return {
    ask(now) {
      const current = Math.floor((now + offset) / WINDOW_MS);
      if (current !== window) [window, count] = [current, 0];
      const accepted = count < limit;
      if (accepted) count += 1;
      const retryInMs = (current + 1) * WINDOW_MS - now - offset;
      return { accepted, limit, remaining: limit - count, retryInMs };
    },
  };
}

/** Estimates the last 60 s from the counts of two calendar minutes. */
export function slidingCounter(limit: number): Limiter {
  let [window, count, before] = [0, 0, 0];
  return {
    ask(now) {
      const current = Math.floor(now / WINDOW_MS);
      if (current !== window) [window, before, count] = [current, current === window + 1 ? count : 0, 0];
      const weight = 1 - (now - current * WINDOW_MS) / WINDOW_MS;
      const estimate = before * weight + count;
      const accepted = estimate + 1 <= limit;
      if (accepted) count += 1;
      return {
        accepted,
        limit,
        remaining: Math.max(0, Math.floor(limit - before * weight - count)),
        retryInMs: 1_000,
      };
    },
  };
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
    ask(now) {
      const first = inner.ask(now);
      if (!first.accepted) return first;
      const second = outer.ask(now);
      return second.accepted ? first : second;
    },
  };
}

/** The same limiter with another `Remaining` in its headers. */
export function withRemaining(limiter: Limiter, remaining: (honest: number) => number): Limiter {
  return {
    ask(now) {
      const verdict = limiter.ask(now);
      return { ...verdict, remaining: remaining(verdict.remaining) };
    },
  };
}
