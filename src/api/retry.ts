import { type ClassifiedError } from '@research-mirror/runtime/errors';
import { RateLimited } from '../model/errors.ts';
import type { Clock, Random } from '@research-mirror/runtime/clock';

/** How long a request is tried again. Durations are milliseconds. */
export interface RetryLimits {
  /** Attempts that may fail without an answer, by 5xx or by a malformed body, before the request fails. */
  readonly attempts: number;
  /** Mean wait before the first repetition is half of this; it doubles with each. */
  readonly baseMs: number;
  /** Longest wait, and longest Retry-After of a 5xx that is waited for here: longer ones are the caller's to plan. */
  readonly capMs: number;
  /** 429s are waited out by the budget and repeated for this long, since the first of them. */
  readonly rateLimitedMs: number;
}

export const RETRY_LIMITS: RetryLimits = {
  attempts: 5,
  baseMs: 500,
  capMs: 30_000,
  // Two of the longest Retry-Afters that are believed (900 s).
  rateLimitedMs: 1_800_000,
};

/** A failed attempt; `retryAfterMs` where the service named a wait. */
export interface Failure {
  readonly error: ClassifiedError;
  readonly retryAfterMs: number | undefined;
}

/**
 * Repeats `attempt` while its failure may pass by itself, waiting with full jitter in between (a uniform part of
 * a wait that doubles: repetitions of many clients then spread instead of meeting again). Each attempt asks the
 * budget for a slot by itself (invariant 6), so after a 429 nothing is waited for here.
 * @throws the last failure's error; the signal's reason as soon as it is aborted
 */
export async function withRetries<T>(
  attempt: () => Promise<{ readonly value: T } | Failure>,
  time: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
  limits: RetryLimits = RETRY_LIMITS,
): Promise<T> {
  let failures = 0;
  let limitedSince: number | undefined;
  for (;;) {
    signal.throwIfAborted();
    const outcome = await attempt();
    if (!('error' in outcome)) return outcome.value;
    const { error, retryAfterMs } = outcome;
    if (error.remedy !== 'retry') throw error;
    if (error instanceof RateLimited) {
      limitedSince ??= time.clock.monotonic();
      if (time.clock.monotonic() - limitedSince >= limits.rateLimitedMs) throw error;
      continue;
    }
    failures += 1;
    const asked = retryAfterMs ?? 0;
    if (failures >= limits.attempts || asked > limits.capMs) throw error;
    const bound = Math.min(limits.capMs, limits.baseMs * 2 ** (failures - 1));
    await time.clock.sleep(Math.max(asked, time.random() * bound), signal);
  }
}
