import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import type { Verdict } from './rate-limiter.ts';

/** A `Retry-After` that is too long to obey: a day. */
const HUGE_SECONDS = 86_400;

/**
 * The headers of specification 8.2, in the spelling of the switches.
 * @param wall epoch milliseconds
 */
export function rateHeaders(verdict: Verdict, options: SandboxOptions, wall: number): Record<string, string> {
  const headers: Record<string, string> = { 'X-RateLimit-Limit': String(verdict.limit) };
  if (options.remaining === 'exact') headers['X-RateLimit-Remaining'] = String(verdict.remaining);
  if (options.remaining === 'constant') headers['X-RateLimit-Remaining'] = String(verdict.limit - 1);
  const reset = resetText(verdict.resetIn, options.reset, wall);
  if (reset !== undefined) headers['X-RateLimit-Reset'] = reset;
  if (!verdict.allowed) {
    const retry = retryText(verdict.acceptsIn, options.retryAfter, wall);
    if (retry !== undefined) headers['Retry-After'] = retry;
  }
  return headers;
}

function resetText(resetIn: number, form: SandboxOptions['reset'], wall: number): string | undefined {
  switch (form) {
    case 'epoch-s':
      return String(Math.ceil((wall + resetIn) / 1000));
    case 'epoch-ms':
      return String(Math.ceil(wall + resetIn));
    case 'delta-s':
      return String(Math.ceil(resetIn / 1000));
    case 'iso':
      return new Date(wall + resetIn).toISOString();
    case 'missing':
      return undefined;
  }
}

function retryText(acceptsIn: number, form: SandboxOptions['retryAfter'], wall: number): string | undefined {
  switch (form) {
    case 'seconds':
      return String(Math.max(1, Math.ceil(acceptsIn / 1000)));
    case 'decimal':
      return (Math.ceil(acceptsIn) / 1000).toFixed(3);
    case 'http-date':
      // Whole seconds, rounded up: an obedient client is never early.
      return new Date(Math.ceil((wall + acceptsIn) / 1000) * 1000).toUTCString();
    case 'huge':
      return String(HUGE_SECONDS);
    case 'missing':
      return undefined;
  }
}
