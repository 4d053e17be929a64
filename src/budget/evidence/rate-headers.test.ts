import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pauseAfter, readRateHeaders } from './rate-headers.ts';

const DATE = 'Thu, 01 Jan 2026 00:00:00 GMT';
const now = Date.parse(DATE);

function pause(headers: Record<string, string>, wallNow: number = now): number {
  return pauseAfter(readRateHeaders(headers, wallNow));
}

describe('X-RateLimit-Limit and -Remaining', () => {
  it('are counts', () => {
    const read = readRateHeaders({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0' }, now);
    expect([read.limit, read.remaining]).toEqual([60, 0]);
  });

  it('may carry the parameters of the IETF draft, or come twice', () => {
    expect(readRateHeaders({ 'x-ratelimit-limit': '60;w=60' }, now).limit).toBe(60);
    expect(readRateHeaders({ 'x-ratelimit-limit': ['60', '100'] }, now).limit).toBe(60);
  });

  it('are ignored when they make no sense', () => {
    for (const value of ['', 'off', '-1', '0', '6e1', '1.5', 'NaN', '9'.repeat(20)]) {
      expect(readRateHeaders({ 'x-ratelimit-limit': value }, now).limit).toBeUndefined();
    }
  });
});

describe('the pause after a 429', () => {
  it('is what Retry-After asks for, in seconds rounded up', () => {
    expect([pause({ 'retry-after': '7' }), pause({ 'retry-after': '6.2' })]).toEqual([7_000, 7_000]);
  });

  it('is counted from the answer’s own Date when Retry-After is a date', () => {
    const headers = { date: DATE, 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' };
    expect(pause(headers, now + 3_600_000)).toBe(30_000);
  });

  it('is a minute when nothing is said, or nonsense', () => {
    for (const value of ['', 'soon', '-5', '1e3']) expect(pause({ 'retry-after': value })).toBe(60_000);
    expect(pause({})).toBe(60_000);
  });

  it('is never longer than 15 minutes, nor shorter than a second', () => {
    expect([pause({ 'retry-after': '86400' }), pause({ 'retry-after': '0' })]).toEqual([900_000, 1_000]);
  });

  it('follows Reset, in whichever form, when Retry-After is missing', () => {
    const forms = [
      String(now / 1_000 + 20),
      String(now + 20_000),
      '20',
      new Date(now + 20_000).toISOString(),
    ];
    for (const form of forms) expect(pause({ date: DATE, 'x-ratelimit-reset': form })).toBe(20_000);
  });

  it('does not believe a Reset that lies in the past or far away', () => {
    for (const form of ['1000', String(now / 1_000 - 5), '1e9'])
      expect(pause({ date: DATE, 'x-ratelimit-reset': form })).toBe(60_000);
  });

  it('stays within its bounds whatever the headers hold', () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.double().map(String),
      fc.date().map(String),
    );
    fc.assert(
      fc.property(value, value, value, (retry, reset, date) => {
        const ms = pause({ 'retry-after': retry, 'x-ratelimit-reset': reset, date });
        expect(ms).toBeGreaterThanOrEqual(1_000);
        expect(ms).toBeLessThanOrEqual(900_000);
      }),
    );
  });
});
