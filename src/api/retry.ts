import { type ClassifiedError } from '@research-mirror/runtime/errors';
import { RateLimited, ServiceDown } from '../model/errors.ts';
import type { Clock, Random } from '@research-mirror/runtime/clock';

/** How long a request is tried again. Durations are milliseconds. */
export interface RetryLimits {
  /** After so many attempts without an answer, with a 5xx or a malformed body, the request fails. */
  readonly attempts: number;
  /** Longest wait before the first repetition; it doubles with each. */
  readonly baseMs: number;
  /** Longest wait, also for the Retry-After of a 5xx: with a longer one the request fails at once. */
  readonly capMs: number;
  /** How long 429s are repeated, since the first of them. The budget waits between them. */
  readonly rateLimitedMs: number;
}

export const RETRY_LIMITS: RetryLimits = {
  attempts: 5,
  baseMs: 500,
  capMs: 30_000,
  // Twice the longest Retry-After that counts (900 s).
  rateLimitedMs: 1_800_000,
};

/** A failed attempt; `retryAfterMs` where the service named a wait. */
export interface Failure {
  readonly error: ClassifiedError;
  readonly retryAfterMs: number | undefined;
}

/**
 * Repeats `attempt` while its failure may pass by itself, with full jitter: it waits a uniform part of a time that
 * doubles, so the repetitions of many clients spread. After a 429 the budget makes the next attempt wait for its
 * slot.
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
    if (error.remedy !== 'retry' || error instanceof ServiceDown) throw error;
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
