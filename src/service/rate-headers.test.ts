import fc from 'fast-check';
import { expect, it } from 'vitest';
import { pauseAfter, readRateHeaders } from './rate-headers.ts';

const DATE = 'Thu, 01 Jan 2026 00:00:00 GMT';
const now = Date.parse(DATE);

it.each([
  ['60', 60],
  // The parameters of the IETF draft; a header that comes twice.
  ['60;w=60', 60],
  [['60', '100'], 60],
  ...['', 'off', '-1', '0', '6e1', '1.5', 'NaN', '9'.repeat(20)].map((none) => [none, undefined] as const),
] as const)('X-RateLimit-Limit %j is the count %s', (text, limit) => {
  expect(readRateHeaders({ 'x-ratelimit-limit': text }, now).limit).toBe(limit);
});

it('X-RateLimit-Remaining may be 0', () => {
  expect(readRateHeaders({ 'x-ratelimit-remaining': '0' }, now).remaining).toBe(0);
});

function pause(retry?: string, reset?: string, date = DATE, wallNow = now): number {
  const headers = {
    date,
    ...(retry === undefined ? {} : { 'retry-after': retry }),
    ...(reset === undefined ? {} : { 'x-ratelimit-reset': reset }),
  };
  return pauseAfter(readRateHeaders(headers, wallNow));
}

it.each([
  ['7', 7_000],
  // Rounded up; within a second and 15 minutes.
  ['6.2', 7_000],
  ['86400', 900_000],
  ['0', 1_000],
  // Nonsense, or nothing.
  ...['', 'soon', '-5', '1e3', undefined].map((none) => [none, 60_000] as const),
] as const)('a 429 with Retry-After %j pauses for %i ms', (retry, ms) => {
  expect(pause(retry)).toBe(ms);
});

it('a date in Retry-After is counted from the answer’s own Date', () => {
  expect(pause('Thu, 01 Jan 2026 00:00:30 GMT', undefined, DATE, now + 3_600_000)).toBe(30_000);
});

it.each([
  [String(now / 1_000 + 20), 20_000],
  [String(now + 20_000), 20_000],
  ['20', 20_000],
  [new Date(now + 20_000).toISOString(), 20_000],
  // In the past, or far away.
  ['1000', 60_000],
  [String(now / 1_000 - 5), 60_000],
  ['1e9', 60_000],
])('without Retry-After Reset is followed, in whichever form: %s, %i ms', (reset, ms) => {
  expect(pause(undefined, reset)).toBe(ms);
});

it('the pause stays within its bounds whatever the headers hold', () => {
  const value = fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String), fc.date().map(String));
  fc.assert(
    fc.property(value, value, value, (retry, reset, date) => {
      expect(pause(retry, reset, date)).toBeGreaterThanOrEqual(1_000);
      expect(pause(retry, reset, date)).toBeLessThanOrEqual(900_000);
    }),
  );
});
