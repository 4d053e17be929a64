import type { AnswerHeaders } from '../budget/budget.ts';
import type { Served } from '../model/page.ts';

/**
 * What an answer's headers say of caches on the way (RFC 9111): `Age` where one held it, and `Date`, which is the
 * service's own even then.
 */
export function servedBy(headers: AnswerHeaders): Served {
  const date = Date.parse(first(headers['date']) ?? '');
  const age = /^\s*(\d{1,10})\s*(?:,|$)/.exec(first(headers['age']) ?? '')?.[1];
  return { date: Number.isNaN(date) ? undefined : date, ageMs: Number(age ?? 0) * 1_000 };
}

function first(value: AnswerHeaders[string]): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
