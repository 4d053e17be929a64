import { describe, expect, it } from 'vitest';
import { optionsWith } from '../../testing/sandbox.ts';
import { rateHeaders, RateLimiter, type Group } from './rate-limiter.ts';

type Switches = Parameters<typeof optionsWith>[0];

/** A limiter, and how many of `asked` requests at one time it accepts. */
function limiting(switches: Switches = {}) {
  const limiter = new RateLimiter();
  const settings = optionsWith(switches);
  const admit = (at: number, group: Group = 'other', key = '0', route: string = group): boolean =>
    limiter.admit(key, group, route, settings, at).allowed;
  const burst = (group: Group, asked = 100, key = '0', route: string = group): number =>
    Array.from({ length: asked }, () => admit(5000, group, key, route)).filter(Boolean).length;
  return { admit, burst };
}

describe('the rate limiter', () => {
  it.each([
    ['clay', 5],
    ['research', 10],
    ['heavy', 2],
    ['sequence', 20],
    ['other', 60],
  ] as const)('admits of the group %s %i requests in a window, for each key', (group, limit) => {
    const { burst } = limiting();
    expect([burst(group), burst(group, 100, '1')]).toEqual([limit, limit]);
  });

  it('counts each group by itself, and the endpoints of a group together, unless told otherwise', () => {
    const bursts = (switches: Switches): number[] => {
      const { burst } = limiting(switches);
      const research = (endpoint: string): number => burst('research', 6, '0', `POST /v1/${endpoint}`);
      return [research('research'), research('enrich'), burst('other', 6)];
    };
    expect(bursts({})).toEqual([6, 4, 6]);
    expect(bursts({ limitScope: 'endpoint' })).toEqual([6, 6, 6]);
  });

  it('does not count refused requests, unless told to', () => {
    const lenient = limiting({ limitOther: 1 });
    expect([0, 59_999, 60_000].map((at) => lenient.admit(at))).toEqual([true, false, true]);
    const strict = limiting({ limitOther: 1, countRefused: 'on' });
    const admitted = [0, 59_999, 60_000, 120_000].map((at) => strict.admit(at));
    expect(admitted).toEqual([true, false, false, true]);
  });

  it('applies a second limit to all endpoints', () => {
    const { burst } = limiting({ limitGlobal: 12 });
    expect([burst('research', 10), burst('other', 10)]).toEqual([10, 2]);
  });

  it('removes limits one by one or all at once', () => {
    expect(limiting({ limitOther: 'off' }).burst('other', 500)).toBe(500);
    expect(limiting({ limits: 'off' }).burst('heavy', 500)).toBe(500);
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
    ['reset', 'epoch-ms', 'X-RateLimit-Reset', String(wall + 30_400)],
    ['reset', 'delta-s', 'X-RateLimit-Reset', '31'],
    ['reset', 'iso', 'X-RateLimit-Reset', '2026-01-01T12:00:30.650Z'],
    ['reset', 'missing', 'X-RateLimit-Reset', undefined],
    ['retryAfter', 'decimal', 'Retry-After', '1.500'],
    ['retryAfter', 'http-date', 'Retry-After', 'Thu, 01 Jan 2026 12:00:02 GMT'],
    ['retryAfter', 'huge', 'Retry-After', '86400'],
    ['retryAfter', 'missing', 'Retry-After', undefined],
    ['remaining', 'constant', 'X-RateLimit-Remaining', '59'],
    ['remaining', 'missing', 'X-RateLimit-Remaining', undefined],
  ] as const)('are what the switches say: %s %s', (name, form, header, text) => {
    expect(rateHeaders(verdict, optionsWith({ [name]: form }), wall)[header]).toBe(text);
  });
});
