import { choice, limit } from './switch-kind.ts';

/** The rate limiter (section 8.2) and its headers. */
export const LIMIT_SWITCHES = {
  limits: choice(['on', 'off'], 'on', 'off lifts all rate limits'),
  limitClay: limit(5, 'POST /v1/clay/enrich, requests per 60 s'),
  limitResearch: limit(10, 'POST /v1/research and /v1/enrich, requests per 60 s'),
  limitHeavy: limit(2, 'POST /v1/research/bulk, /v1/lists and /v1/lists/{id}/analyze, requests per 60 s'),
  limitSequence: limit(20, 'POST /v1/research/{id}/sequence, requests per 60 s'),
  limitOther: limit(60, 'all other endpoints, requests per 60 s'),
  limitGlobal: limit('off', 'a second limit over all endpoints, requests per 60 s'),
  limitScope: choice(['group', 'endpoint'], 'group', 'whether endpoints of a group share its limit'),
  limiter: choice(
    ['sliding-log', 'sliding-counter', 'fixed-window', 'token-bucket'],
    'sliding-log',
    'how requests are counted',
  ),
  countRefused: choice(['on', 'off'], 'off', 'whether refused requests count too'),
  remaining: choice(
    ['exact', 'constant', 'missing'],
    'exact',
    'X-RateLimit-Remaining: right, always the same number, or missing',
  ),
  reset: choice(['epoch-s', 'epoch-ms', 'delta-s', 'iso', 'missing'], 'epoch-s', 'X-RateLimit-Reset'),
  retryAfter: choice(
    ['seconds', 'decimal', 'http-date', 'huge', 'missing'],
    'seconds',
    'Retry-After of a 429',
  ),
};
