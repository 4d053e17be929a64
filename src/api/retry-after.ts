import type { AnswerHeaders } from '../budget/budget.ts';

/** Seconds to wait after a 429 without a usable Retry-After: one window (design 5). */
export const RETRY_AFTER_UNKNOWN = 60;
const LEAST = 1;
const MOST = 900;

/**
 * Seconds that the service asks to wait: whole or decimal seconds, or an HTTP date, which is read against the
 * answer's own `Date` so that clocks need not agree. Rounded up, clamped to 1–900. Undefined: not said, or nonsense.
 * @param now wall clock, milliseconds: for an answer without `Date`
 */
export function retryAfter(headers: AnswerHeaders, now: number): number | undefined {
  const value = first(headers['retry-after'])?.trim();
  if (value === undefined || value === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return clamp(Number(value));
  // Date.parse takes much for a date, "-5" too: an HTTP date has a month's name.
  const date = /[a-z]{3}/i.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(date)) return undefined;
  const answered = Date.parse(first(headers['date']) ?? '');
  return clamp((date - (Number.isNaN(answered) ? now : answered)) / 1000);
}

function clamp(seconds: number): number {
  return Math.min(MOST, Math.max(LEAST, Math.ceil(seconds)));
}

function first(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
