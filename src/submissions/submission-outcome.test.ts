import { describe, expect, it } from 'vitest';
import type { RawAnswer } from '../service/api.ts';
import { refusal } from '../service/refusal.ts';
import { outcomeOfAnswer } from './send-submission.ts';

const TIMEOUT_MS = 120_000;

function answer(status: number, text = '', headers: RawAnswer['headers'] = {}): RawAnswer {
  const said = refusal('POST /v1/research', { status, headers, text }, String, 0);
  return { status, headers, text, bodyError: undefined, refusal: said, receivedAt: 0 };
}
const outcome = (given: RawAnswer, keyIsGood?: boolean) => outcomeOfAnswer(given, keyIsGood, TIMEOUT_MS);

describe('an answer', () => {
  it.each([
    [200, '{"job_id":1}'],
    [201, ''],
    [202, 'thank you'],
    [204, ''],
    [200, '{"error":"but it says 200"}'],
  ])('of status %i is accepted, with whatever body: %j', (status, body) => {
    expect(outcome(answer(status, body))).toEqual({ state: 'accepted', status, body });
  });

  it('is accepted although its body could not be read, and says so', () => {
    const broken = { ...answer(200), bodyError: 'the body broke off after 5 bytes' };
    expect(outcome(broken)).toEqual({
      state: 'accepted',
      status: 200,
      body: '',
      error: 'POST was answered 200, but the body broke off after 5 bytes',
    });
  });

  it.each([400, 402, 404, 405, 409, 410, 413, 415, 418, 422, 451, 499])(
    'of status %i is rejected, with the words of the service',
    (status) => {
      expect(outcome(answer(status, 'no credits left'))).toEqual({
        state: 'rejected',
        status,
        body: 'no credits left',
        error: `POST /v1/research was answered ${status}: no credits left`,
      });
    },
  );

  it.each([
    ['12', 12_000],
    [undefined, 60_000],
    ['99999', 900_000],
  ])('of status 429 goes back into the queue, for Retry-After %s', (retryAfter, retryInMs) => {
    const limited = outcome(answer(429, '', retryAfter === undefined ? {} : { 'retry-after': retryAfter }));
    expect(limited).toMatchObject({ state: 'queued', retryInMs });
  });

  it.each([401, 403])('of status %i is rejected only when a ping says that the key is good', (status) => {
    expect(outcome(answer(status, 'not in your plan'), true)).toMatchObject({ state: 'rejected', status });
    expect(outcome(answer(status), false)).toMatchObject({
      state: 'queued',
      error: expect.stringMatching(/was refused, too/),
    });
    expect(outcome(answer(status), undefined)).toMatchObject({
      state: 'queued',
      error: expect.stringMatching(/could not tell why/),
    });
  });

  it.each([301, 302, 307, 308, 408, 425, 500, 502, 503, 504, 520, 599])(
    'of status %i leaves the outcome unknown',
    (status) => {
      expect(outcome(answer(status, 'oops'))).toMatchObject({
        state: 'unknown',
        status,
        body: 'oops',
        conclusiveInMs: TIMEOUT_MS + 90_000,
      });
    },
  );
});
