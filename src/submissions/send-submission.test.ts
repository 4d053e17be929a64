import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import type { OnceRequest, RawAnswer } from '../service/api.ts';
import { refusal } from '../service/envelope.ts';
import { TransportError } from '../model/errors.ts';
import {
  type ClaimedSubmission,
  OPERATION_NAMES,
  type QueuedSubmission,
  TARGETED_OPERATIONS,
} from '../model/submission.ts';
import { Mutex } from '@research-mirror/runtime/mutex';
import { Stopped } from '@research-mirror/runtime/service';
import { OPERATIONS, outcomeOfAnswer, sendSubmission } from './send-submission.ts';

const TIMEOUT_MS = 120_000;
const QUEUED: QueuedSubmission = { id: '7', operation: 'research', targetId: null, requestId: 'uuid' };
const CLAIMED: ClaimedSubmission = { ...QUEUED, payload: '{"a":1}', sendBeforeMs: 5_000 };

/** What becomes of a request once it may be sent: written or not, and the status of its answer, or what ends it. */
async function tryOnce(isWritten: boolean, end: number | Error, inQueue = true) {
  let pings = 0;
  const context = {
    clock: new VirtualClock(),
    claiming: new Mutex(),
    ownsUntil: () => Number.POSITIVE_INFINITY,
    timeoutMs: TIMEOUT_MS,
    store: { claim: () => Promise.resolve(inQueue ? CLAIMED : undefined) },
    source: {
      once: async (request: OnceRequest) => {
        if ((await request.claim?.()) !== true) return undefined;
        if (isWritten) expect(request.mayWrite?.()).toBe(true);
        if (end instanceof Error) throw end;
        return { ...answer(end, '{}'), keyHash: 'k' };
      },
      isGood: async () => (pings += 1) > 0,
    },
  };
  const sent = await sendSubmission(context, QUEUED, new AbortController().signal, () => {}, 4_000);
  return { sent, pings };
}

const REFUSED = new TransportError('refused', { sent: false });
const STOPPED = new Stopped('the test');

describe('a submission', () => {
  it.each([
    [200, 'accepted', 0],
    [422, 'rejected', 0],
    [500, 'unknown', 0],
    [401, 'rejected', 1],
    [403, 'rejected', 1],
  ])('answered %i is %s, and costs %i pings', async (status, state, pings) => {
    expect(await tryOnce(true, status)).toMatchObject({ sent: { kind: 'sent', outcome: { state } }, pings });
  });

  const UNREAD = { status: undefined, body: undefined, conclusiveInMs: TIMEOUT_MS + 90_000 };
  const UNKNOWN = { kind: 'sent', outcome: { state: 'unknown', error: 'reset', ...UNREAD } };
  const unsent = (error: string) => ({
    kind: 'unsent',
    outcome: { state: 'queued', error, retryInMs: 4_000 },
  });
  it.each([
    ['whose connection broke after it was written is unknown, at once', true, new TransportError('reset'), UNKNOWN],
    ['whose connection was refused is unsent', false, REFUSED, unsent('refused')],
    ['that a stop left on the wire stays as it is', true, STOPPED, { kind: 'left', error: STOPPED }],
    ['that a stop met after its claim goes back', false, STOPPED, unsent(`not sent: ${STOPPED.message}`)],
  ])('%s', async (_, isWritten, end, sent) => {
    expect((await tryOnce(isWritten, end)).sent).toEqual(sent);
  });

  it('that is not in the queue any more is not sent', async () => {
    expect((await tryOnce(false, new Error('it was sent'), false)).sent).toEqual({ kind: 'not-claimed' });
  });
});

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
    const bodyError = 'the body broke off after 5 bytes';
    const error = `POST returned 200, but ${bodyError}`;
    const accepted = { state: 'accepted', status: 200, body: '', error };
    expect(outcome({ ...answer(200), bodyError })).toEqual(accepted);
  });

  it.each([400, 402, 404, 405, 409, 410, 413, 415, 418, 422, 451, 499])(
    'of status %i is rejected, with the words of the service',
    (status) => {
      const error = `POST /v1/research returned ${status}: no credits left`;
      const rejected = { state: 'rejected', status, body: 'no credits left', error };
      expect(outcome(answer(status, 'no credits left'))).toEqual(rejected);
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
    const queued = (why: string) => ({ state: 'queued', error: expect.stringContaining(why) as string });
    expect(outcome(answer(status), false)).toMatchObject(queued('was refused, too'));
    expect(outcome(answer(status), undefined)).toMatchObject(queued('could not tell why'));
  });

  it.each([301, 302, 307, 308, 408, 425, 500, 502, 503, 504, 520, 599])(
    'of status %i leaves the outcome unknown',
    (status) => {
      const unknown = { state: 'unknown', status, body: 'oops', conclusiveInMs: TIMEOUT_MS + 90_000 };
      expect(outcome(answer(status, 'oops'))).toMatchObject(unknown);
    },
  );
});

it('the catalogue of operations has every operation with its path and its rate limit', () => {
  const rows = OPERATION_NAMES.map((name) => {
    const { path, group } = OPERATIONS[name];
    return [name, path('7'), group, TARGETED_OPERATIONS.includes(name)];
  });
  expect(rows).toEqual([
    ['research', '/v1/research', 'research_enrich', false],
    ['enrich', '/v1/enrich', 'research_enrich', false],
    ['clay_enrich', '/v1/clay/enrich', 'clay_enrich', false],
    ['bulk_research', '/v1/research/bulk', 'bulk_lists', false],
    ['list', '/v1/lists', 'bulk_lists', false],
    ['list_analyze', '/v1/lists/7/analyze', 'bulk_lists', true],
    ['sequence', '/v1/research/7/sequence', 'sequence', true],
  ]);
});

it('the catalogue of operations keeps a target within its place in the path', () => {
  for (const target of ['a/b', '../ping', '$&', 'é 1?x#y'])
    expect(OPERATIONS.list_analyze.path(target)).toBe(`/v1/lists/${encodeURIComponent(target)}/analyze`);
});
