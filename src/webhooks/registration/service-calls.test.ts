import { describe, expect, it } from 'vitest';
import { TransportError } from '../../model/errors.ts';
import type { ServiceAnswer } from './answers.ts';
import {
  askWhatIsRegistered,
  register,
  remove,
  type WebhookRequest,
  type WebhookService,
} from './service-calls.ts';

const URL = 'https://mirror.example.com/webhooks/1001';
const never = new AbortController().signal;
const yes = (): Promise<boolean> => Promise.resolve(true);

const CALLS = {
  GET: (service: WebhookService, stop = never) => askWhatIsRegistered(service, stop),
  POST: (service: WebhookService, stop = never) => register(service, URL, yes, stop),
  DELETE: (service: WebhookService, stop = never) => remove(service, yes, stop),
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
  it('that changes something is claimed, and a stop ends its wait for a slot', async () => {
    const stopped = new AbortController();
    const { service, asked } = answered(404);
    for (const call of ALL_CALLS) await call(service, stopped.signal);
    stopped.abort();
    // Its wait for a slot ends.
    const seen = asked.map(({ method, claim, stop }) => [method, claim, stop.aborted]);
    expect(seen).toEqual([
      ['GET', undefined, true],
      ['POST', yes, true],
      ['DELETE', yes, true],
    ]);
  });

  it('fails as it is with what is not the service’s', async () => {
    const broken = new Error('the database is away');
    for (const call of ALL_CALLS) await expect(call(serviceWith(broken).service)).rejects.toBe(broken);
  });
});

it.each([
  ...[302, 400, 401, 403, 500].map((status) => ['GET', status] as const),
  ...[302, 400, 401, 403, 405, 500].map((status) => ['DELETE', status] as const),
])('%s tells nothing by an answer %i, which the error names', async (method, status) => {
  const failed = (text: string): Promise<unknown> =>
    CALLS[method](answered(status, text).service).catch((error: unknown) => error);
  const message = `${method} /v1/webhooks was answered ${status}`;
  expect(await failed('words')).toEqual(new Error(`${message}: words`));
  expect(await failed('')).toEqual(new Error(message));
});

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
  ['it never was on the wire', serviceWith(unsent), 'undone'],
])('a request that registers, for all event types, where %s, is %s', async (_, { service, asked }, kind) => {
  expect((await CALLS.POST(service))?.kind).toBe(kind);
  expect(asked[0]?.route).toBe('/v1/webhooks/register');
  expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ url: URL, event_types: null });
});

it.each([
  [200, true],
  [204, true],
  [404, true],
  [undefined, false],
])('a request that removes, answered %s, has done so: %s', async (status, done) => {
  const { service } = status === undefined ? serviceWith(undefined) : answered(status);
  expect(await CALLS.DELETE(service)).toBe(done);
});

it.each([reset, unsent])('a request that removes may not have when no answer came: %s', async (error) => {
  await expect(CALLS.DELETE(serviceWith(error).service)).rejects.toBe(error);
});
