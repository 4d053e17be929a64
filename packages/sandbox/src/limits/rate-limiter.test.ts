import { describe, expect, it } from 'vitest';
import { optionsWith } from '../../testing/options.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { RateLimiter, type Group } from './rate-limiter.ts';
import { rateHeaders } from './rate-headers.ts';

/** How many of `asked` requests at one time are accepted. */
function burst(
  limiter: RateLimiter,
  group: Group,
  settings: SandboxOptions,
  asked = 100,
  key = '0',
  route = group as string,
): number {
  let count = 0;
  for (let number = 0; number < asked; number += 1) {
    count += limiter.admit(key, group, route, settings, 5000).allowed ? 1 : 0;
  }
  return count;
}

describe('the rate limiter', () => {
  it.each([
    ['clay', 5],
    ['research', 10],
    ['heavy', 2],
    ['sequence', 20],
    ['other', 60],
  ] as const)('admits of the group %s %i requests in a window, for each key', (group, limit) => {
    const limiter = new RateLimiter();
    expect(burst(limiter, group, optionsWith())).toBe(limit);
    expect(burst(limiter, group, optionsWith(), 100, '1')).toBe(limit);
  });

  it('counts each group by itself, and the endpoints of a group together, unless told otherwise', () => {
    const shared = new RateLimiter();
    expect(burst(shared, 'research', optionsWith(), 6, '0', 'POST /v1/research')).toBe(6);
    expect(burst(shared, 'research', optionsWith(), 6, '0', 'POST /v1/enrich')).toBe(4);
    expect(burst(shared, 'other', optionsWith(), 6)).toBe(6);
    const apart = new RateLimiter();
    const endpoint = optionsWith({ limitScope: 'endpoint' });
    expect(burst(apart, 'research', endpoint, 100, '0', 'POST /v1/research')).toBe(10);
    expect(burst(apart, 'research', endpoint, 100, '0', 'POST /v1/enrich')).toBe(10);
  });

  it('does not count refused requests, unless told to', () => {
    const limiter = new RateLimiter();
    const lenient = optionsWith({ limitOther: 1 });
    limiter.admit('0', 'other', '', lenient, 0);
    expect(limiter.admit('0', 'other', '', lenient, 59_999).allowed).toBe(false);
    expect(limiter.admit('0', 'other', '', lenient, 60_000).allowed).toBe(true);
    const strict = new RateLimiter();
    const counting = optionsWith({ limitOther: 1, countRefused: 'on' });
    strict.admit('0', 'other', '', counting, 0);
    expect(strict.admit('0', 'other', '', counting, 59_999).allowed).toBe(false);
    expect(strict.admit('0', 'other', '', counting, 60_000).allowed).toBe(false);
    expect(strict.admit('0', 'other', '', counting, 120_000).allowed).toBe(true);
  });

  it('applies a second limit to all endpoints', () => {
    const limiter = new RateLimiter();
    const settings = optionsWith({ limitGlobal: 12 });
    expect(burst(limiter, 'research', settings, 10)).toBe(10);
    expect(burst(limiter, 'other', settings, 10)).toBe(2);
  });

  it('removes limits one by one or all at once', () => {
    expect(burst(new RateLimiter(), 'other', optionsWith({ limitOther: 'off' }), 500)).toBe(500);
    expect(burst(new RateLimiter(), 'heavy', optionsWith({ limits: 'off' }), 500)).toBe(500);
  });
});

describe('the headers of a limit', () => {
  const wall = Date.UTC(2026, 0, 1, 12, 0, 0, 250);
  const verdict = { allowed: false, limit: 60, remaining: 0, resetIn: 30_400, acceptsIn: 1500 };

  it('are those of the specification by default', () => {
    expect(rateHeaders(verdict, optionsWith(), wall)).toEqual({
      'X-RateLimit-Limit': '60',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(Math.ceil((wall + 30_400) / 1000)),
      'Retry-After': '2',
    });
    expect(rateHeaders({ ...verdict, allowed: true }, optionsWith(), wall)).not.toHaveProperty('Retry-After');
  });

  it.each([
    ['epoch-ms', String(wall + 30_400)],
    ['delta-s', '31'],
    ['iso', '2026-01-01T12:00:30.650Z'],
    ['missing', undefined],
  ] as const)('tell the reset as %s', (reset, text) => {
    expect(rateHeaders(verdict, optionsWith({ reset }), wall)['X-RateLimit-Reset']).toBe(text);
  });

  it.each([
    ['decimal', '1.500'],
    ['http-date', 'Thu, 01 Jan 2026 12:00:02 GMT'],
    ['huge', '86400'],
    ['missing', undefined],
  ] as const)('tell when to come again as %s', (retryAfter, text) => {
    expect(rateHeaders(verdict, optionsWith({ retryAfter }), wall)['Retry-After']).toBe(text);
  });

  it('give wrong remaining requests, or none, as the switch says', () => {
    expect(rateHeaders(verdict, optionsWith({ remaining: 'constant' }), wall)['X-RateLimit-Remaining']).toBe(
      '59',
    );
    expect(rateHeaders(verdict, optionsWith({ remaining: 'missing' }), wall)).not.toHaveProperty(
      'X-RateLimit-Remaining',
    );
  });
});
