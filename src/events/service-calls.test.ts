import { describe, expect, it } from 'vitest';
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

const CALLS = {
  GET: (service: WebhookService, stop = never) => askWhatIsRegistered(service, stop),
  POST: (service: WebhookService, stop = never) => register(service, URL, yes, stop),
};
const ALL_CALLS = Object.values(CALLS);

/** A service that gives one answer, or throws it; and what was asked. */
function serviceWith(answer: ServiceAnswer | Error | undefined) {
  const asked: WebhookRequest[] = [];
  const service: WebhookService = (request) => {
    asked.push(request);
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  return { service, asked };
}

const answered = (status: number, text = '') => serviceWith({ status, text, words: text });
const reset = new TransportError('reset');
const unsent = new TransportError('no route', { sent: false });

describe('each request', () => {
  it('with an effect is claimed, and a stop ends its wait for a slot', async () => {
    const stopped = new AbortController();
    const { service, asked } = answered(404);
    for (const call of ALL_CALLS) await call(service, stopped.signal);
    stopped.abort();
    // Its wait for a slot ends.
    const seen = asked.map(({ method, claim, stop }) => [method, claim, stop.aborted]);
    expect(seen).toEqual([
      ['GET', undefined, true],
      ['POST', yes, true],
    ]);
  });

  it('passes on errors that are not the service’s', async () => {
    const broken = new Error('the database is away');
    for (const call of ALL_CALLS) await expect(call(serviceWith(broken).service)).rejects.toBe(broken);
  });
});

it.each([302, 400, 401, 403, 500])(
  'what is registered is not known after an answer %i, which the error names',
  async (status) => {
    const failed = (text: string): Promise<unknown> =>
      CALLS.GET(answered(status, text).service).catch((error: unknown) => error);
    const message = `GET /v1/webhooks was answered ${status}`;
    expect(await failed('words')).toEqual(new Error(`${message}: words`));
    expect(await failed('')).toEqual(new Error(message));
  },
);

it.each([
  ['a request without an answer', serviceWith(reset), 'reset'],
  ['an answer that is no JSON', answered(200, '<html>'), 'the body is not JSON'],
  ['one that was not sent', serviceWith(undefined), 'GET /v1/webhooks was not sent'],
])('what is registered is not known after %s', async (_, { service }, message) => {
  await expect(CALLS.GET(service)).rejects.toThrow(message);
});

it.each([
  ['it was not claimed', serviceWith(undefined), undefined],
  ['the endpoint is refused', answered(403, 'no'), 'refused'],
  ['it was on the wire, and no answer came', serviceWith(reset), 'lost'],
  ['it never was on the wire', serviceWith(unsent), 'lost'],
])('a request that registers, for all event types, where %s, is %s', async (_, { service, asked }, kind) => {
  expect((await CALLS.POST(service))?.kind).toBe(kind);
  expect(asked[0]?.route).toBe('/v1/webhooks/register');
  expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ url: URL, event_types: null });
});

const seenIn = (text: string, status = 200) => readWebhook({ status, text });
/** What a registration that was answered so has brought. */
function registeredIn(text: string) {
  const outcome = outcomeOf({ status: 200, text, words: '' });
  if (outcome.kind !== 'accepted') throw new Error(outcome.why);
  return outcome;
}

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
    expect(seenIn(text)).toMatchObject({
      url: 'https://a.example/x',
      active: true,
    });
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

describe('the answer to a registration', () => {
  it('gives its secret', () => {
    expect(registeredIn('{"url":"https://a.example","secret":"5ec4e7"}').secret).toBe('5ec4e7');
  });

  it.each(['null', '""', '7'])('counts as refused with the secret %s', (spelled) => {
    const text = `{"url":"https://a.example","secret":${spelled}}`;
    expect(outcomeOf({ status: 200, text, words: '' })).toEqual({
      kind: 'refused',
      why: 'it was answered 200, without a secret',
    });
  });

  it('may hold a secret without a URL', () => {
    expect(registeredIn('{"secret":"5ec4e7"}')).toMatchObject({ secret: '5ec4e7', seen: undefined });
  });

  it.each(['{"ok":true}', '[]', '[["https://a.example"]]'])('is no answer if it is %s', (text) => {
    expect(() => registeredIn(text)).toThrow('holds no webhook');
  });
});

it.each([
  [200, '{"url":"https://a.example","secret":"secret"}', 'accepted'],
  [201, '{"secret":"secret"}', 'accepted'],
  [200, '{"url":"https://a.example"}', 'refused'],
  [200, '<html>secret</html>', 'lost'],
  [204, '', 'lost'],
  [400, 'no', 'refused'],
  [401, 'no', 'refused'],
  [402, 'no', 'refused'],
  [404, 'no', 'refused'],
  [405, 'no', 'refused'],
  [422, 'no', 'refused'],
  [302, '', 'refused'],
  [429, 'no', 'lost'],
  [408, 'no', 'lost'],
  [425, 'no', 'lost'],
  [500, 'no', 'lost'],
  [503, '', 'lost'],
])('the answer to a registration %i %j means: %s', (status, text, kind) => {
  expect(outcomeOf({ status, text, words: text }).kind).toBe(kind);
});

it('the answer to a registration is explained by the service’s words', () => {
  expect(outcomeOf({ status: 402, text: '', words: 'no credits' })).toMatchObject({
    why: 'it was answered 402: no credits',
  });
  expect(outcomeOf({ status: 503, text: '', words: '' })).toMatchObject({
    why: 'it was answered 503',
  });
});
