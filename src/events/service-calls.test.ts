import { describe, expect, it } from 'vitest';
import { messageOf } from '@research-mirror/runtime/message';
import { MalformedAnswer, TransportError } from '../model/errors.ts';
import {
  askWhatIsRegistered,
  outcomeOf,
  readWebhook,
  register,
  type ServiceAnswer,
  type WebhookRequest,
  type WebhookService,
} from './service-calls.ts';

const URL = 'https://mirror.example.com/webhooks/1001';
const never = new AbortController().signal;
const yes = (): Promise<boolean> => Promise.resolve(true);

/** A service that gives one answer, or throws it; and what was asked. */
function serviceWith(answer: ServiceAnswer | Error | undefined) {
  const asked: WebhookRequest[] = [];
  const service: WebhookService = async (request) => {
    asked.push(request);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return {
    asked,
    get: (stop = never) => askWhatIsRegistered(service, stop),
    post: (stop = never) => register(service, URL, yes, stop),
  };
}

const answered = (status: number, text = '') => serviceWith({ status, text, words: text });
const reset = new TransportError('reset');
const unsent = new TransportError('no route', { sent: false });

it('a request with an effect is claimed, and a stop ends the wait of each for a slot', async () => {
  const stopped = new AbortController();
  const { get, post, asked } = answered(404);
  await get(stopped.signal);
  await post(stopped.signal);
  stopped.abort();
  expect(asked.map(({ method, claim, stop }) => [method, claim, stop.aborted])).toEqual([
    ['GET', undefined, true],
    ['POST', yes, true],
  ]);
});

it('a request passes on errors that are not the service’s', async () => {
  const broken = new Error('the database is away');
  const { get, post } = serviceWith(broken);
  await expect(get()).rejects.toBe(broken);
  await expect(post()).rejects.toBe(broken);
});

it.each([
  ...[302, 400, 401, 403, 500].flatMap((status) => [
    [`GET /v1/webhooks returned ${status}: words`, answered(status, 'words')] as const,
    [`GET /v1/webhooks returned ${status}`, answered(status)] as const,
  ]),
  ['reset', serviceWith(reset)],
  ['the body is not JSON', answered(200, '<html>')],
  ['GET /v1/webhooks was not sent', serviceWith(undefined)],
] as const)('what is registered is not known after a failure, and the error says: %s', async (message, { get }) => {
  const error: unknown = await get().catch((thrown: unknown) => thrown);
  expect(messageOf(error)).toBe(message);
});

it.each([
  ['it was not claimed', serviceWith(undefined), undefined],
  ['the endpoint is refused', answered(403, 'no'), 'refused'],
  ['it was on the wire, and no answer came', serviceWith(reset), 'lost'],
  ['it never was on the wire', serviceWith(unsent), 'lost'],
])('a request that registers, for all event types, where %s, is %s', async (_, { post, asked }, kind) => {
  expect((await post())?.kind).toBe(kind);
  expect(asked[0]?.route).toBe('/v1/webhooks/register');
  expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ url: URL, event_types: null });
});

const seenIn = (text: string, status = 200) => readWebhook({ status, text });

const HOOK = '{"url":"https://a.example/x","active":true,"event_types":["list.failed"]}';

describe('what is registered', () => {
  it.each([
    [200, 'null'],
    [200, '{}'],
    [200, '[]'],
    [200, '{"object":"list","data":[],"has_more":false}'],
    [200, '{"data":null}'],
    [200, '{"error":null,"errors":null}'],
    [200, '{"error":false,"data":[]}'],
    [200, '{"object":"webhook","url":null}'],
    [200, '{"object":"webhook","url":"","active":false}'],
    [200, '{"object":"webhook","url":"  "}'],
    [204, ''],
    [404, '{"error":{"code":"not_found"}}'],
    [404, ''],
  ])('is nothing: %i %s', (status, text) => {
    expect(seenIn(text, status)).toBe('none');
  });

  it.each([
    `{"object":"webhook",${HOOK.slice(1)}`,
    `{"data":${HOOK}}`,
    `{"object":"list","data":[${HOOK}]}`,
    `{"webhook":${HOOK}}`,
    `{"webhooks":[${HOOK}]}`,
    `{"items":[${HOOK}]}`,
    `{"results":[${HOOK}]}`,
    `{"error":{"code":"timeout"},${HOOK.slice(1)}`,
  ])('is found in %s', (text) => {
    expect(seenIn(text)).toMatchObject({ url: 'https://a.example/x', active: true });
  });

  it.each([
    [206, '{}'],
    [202, 'null'],
    [203, '{"url":"https://a.example/x"}'],
    [200, '{"url":"https://a.example/x","url":null}'],
    [200, '{"data":{"url":"https://a.example/x"},"data":null}'],
    [200, '{"data":{"url":"https://a.example/x","url":""}}'],
  ])('is not known from %i %s: an overlooked webhook would be replaced', (status, text) => {
    expect(() => seenIn(text, status)).toThrow(MalformedAnswer);
  });

  it('keeps unknown fields and every digit of the object', () => {
    const seen = seenIn('{"data":{"url":"https://a.example","id":9007199254740993}}');
    expect(seen).toMatchObject({ active: null });
    const odd = seenIn('{"url":"https://a.example","active":1,"event_types":["list.failed",7]}');
    expect(odd).toMatchObject({ active: null });
    expect(seen === 'none' ? '' : seen.source).toContain('9007199254740993');
  });

  it.each([
    ['"secret":"5ec4e7","signing_secret":"other","n":1', '{"url":"https://a.example","n":1}'],
    ['"Client_Secret":"5ec4e7","n":1', '{"url":"https://a.example","n":1}'],
    // No second copy passes, nor one that stands deeper: nothing but whether it is active is kept.
    ['"active":true,"secret":"5ec4e7","curl":"-H 5ec4e7"', '{"active":true}'],
    ['"active":true,"signing":{"Client_Secret":"x"}', '{"active":true}'],
    [String.raw`"active":true,"signing":[{"s\u0065cret":"x"}]`, '{"active":true}'],
    ['"active":true,"note":"a secret"', '{"active":true}'],
  ])('with %s is kept without its secrets', (fields, source) => {
    const seen = seenIn(`{"url":"https://a.example",${fields}}`);
    if (seen === 'none') throw new Error('nothing was seen');
    expect(seen.url).toBe('https://a.example');
    expect(JSON.parse(seen.source)).toEqual(JSON.parse(source));
  });

  const BROKEN = ['', '<html>', '{"url":', '"text"', '7'];
  const ERRORS = ['{"error":{"code":"boom"}}', '{"errors":["boom"]}', '{"object":"error"}'];
  it.each([...BROKEN, ...ERRORS])('is refused in %j, and the message quotes nothing', (text) => {
    expect(() => seenIn(text)).toThrow(/^the body is /);
  });
});

const NO_SECRET = { kind: 'refused', why: 'it returned 200 without a secret' };
const NO_WEBHOOK = { kind: 'lost', why: 'it returned 200, but the answer has no webhook' };

it.each<[number, string, object]>([
  [200, '{"url":"https://a.example","secret":"5ec4e7"}', { kind: 'accepted', secret: '5ec4e7' }],
  [201, '{"secret":"5ec4e7"}', { kind: 'accepted', secret: '5ec4e7', seen: undefined }],
  [200, '{"url":"https://a.example"}', NO_SECRET],
  [200, '{"url":"https://a.example","secret":null}', NO_SECRET],
  [200, '{"url":"https://a.example","secret":""}', NO_SECRET],
  [200, '{"url":"https://a.example","secret":7}', NO_SECRET],
  [200, '{"ok":true}', NO_WEBHOOK],
  [200, '[]', NO_WEBHOOK],
  [200, '[["https://a.example"]]', NO_WEBHOOK],
  [200, '<html>secret</html>', { kind: 'lost', why: 'it returned 200, but the body is not JSON' }],
  [204, '', { kind: 'lost' }],
  ...[302, 400, 401, 402, 404, 405, 422].map(refusedBy('refused')),
  ...[408, 425, 429, 500, 503].map(refusedBy('lost')),
  [503, '', { kind: 'lost', why: 'it returned 503' }],
])('the answer to a registration %i %j means: %j', (status, text, outcome) => {
  expect(outcomeOf({ status, text, words: text })).toMatchObject(outcome);
});

/** The service's words explain it. */
function refusedBy(kind: string) {
  return (status: number): [number, string, object] => [
    status,
    'no credits',
    { kind, why: `it returned ${status}: no credits` },
  ];
}
