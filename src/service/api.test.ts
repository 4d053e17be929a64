import type { IncomingMessage, RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { openBudget } from '../../test/support/budget/open-budget.ts';
import { answerWith, KEY, servers } from '../../test/support/network/servers.ts';
import { type Budget, NotSent } from './budget.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { Unusable } from '@research-mirror/runtime/errors';
import {
  AnswerTooLarge,
  KeyRefused,
  MalformedAnswer,
  RateLimited,
  RequestRefused,
  ServiceDown,
  ServiceError,
  TransportError,
} from '../model/errors.ts';
import { type ApiOptions, createApi, type Exchange, type PageRequest, RETRY_LIMITS } from './api.ts';
import { PRIORITY } from './rate-groups.ts';
import { PING_ROUTE, ServiceGate } from './service-gate.ts';
import type { TransportLimits } from './transport.ts';

const { serve, transport } = servers();
const FALSE_END = '{"object":"list","data":[],"has_more":false,"total":9}';
const REDIRECT = { location: 'https://elsewhere.example/login?token=secret' };

/** A page of research jobs, as the first one is asked for. */
const RESEARCH: PageRequest = {
  path: '/v1/research',
  route: '/v1/research',
  keyField: 'job_id',
  keyType: 'bigint',
  cursor: undefined,
  limit: 500,
  priority: PRIORITY.POLL,
  signal: new AbortController().signal,
};

/** A good answer to it. */
const PAGE = '{"object":"list","data":[{"job_id":1}],"has_more":false}';

/** A client of a service that answers so; `exchanges`: every attempt that ended. */
async function apiOf(
  listener: RequestListener,
  options: Partial<ApiOptions> = {},
  limits: Partial<TransportLimits> = {},
) {
  const { url } = await serve(listener);
  const budget = openBudget();
  const exchanges: Exchange[] = [];
  const api = createApi({
    transport: transport(url, { limits }),
    key: KEY,
    budget,
    clock: systemClock,
    random: () => 0,
    scrub: (text) => text.replaceAll(KEY, '***'),
    onExchange: (exchange) => exchanges.push(exchange),
    ...options,
  });
  return { api, budget, exchanges };
}

/** A service that plays these answers, one a request, and then good pages. */
function playing(...answers: readonly RequestListener[]): RequestListener {
  let next = 0;
  return (request, response) => {
    const answer = answers[next++];
    if (answer === undefined) response.end(PAGE);
    else answer(request, response);
  };
}

const status = (code: number, body = '', headers: Record<string, string> = {}): RequestListener =>
  answerWith(body, headers, code);

describe('a page', () => {
  it('is asked for with its cursor encoded, on a slot of its endpoint group', async () => {
    const urls: (string | undefined)[] = [];
    const { api, budget, exchanges } = await apiOf((request, response) => {
      urls.push(request.url);
      response.end(PAGE);
    });
    const page = await api.page({ ...RESEARCH, cursor: 'a/b c&é' });
    expect(page.items.map((item) => item.key)).toEqual(['1']);
    await api.page({ ...RESEARCH, limit: undefined });
    expect(urls).toEqual(['/v1/research?limit=500&starting_after=a%2Fb%20c%26%C3%A9', '/v1/research']);
    expect(budget.asked[0]).toMatchObject({ group: 'other', route: 'GET /v1/research', priority: 30 });
    expect(exchanges[0]).toMatchObject({
      method: 'GET',
      route: '/v1/research',
      status: 200,
      bytes: PAGE.length,
      error: undefined,
    });
  });

  it('that is too large is asked for once: the same request would bring it again', async () => {
    const huge = `{"object":"list","data":[{"job_id":1,"report":"${'x'.repeat(5000)}"}],"has_more":false}`;
    const limits = { maxBodyBytes: 4000, maxItemBytes: 6000 };
    const { api, budget } = await apiOf((_, response) => void response.end(huge), {}, limits);
    const refused = await api.page(RESEARCH).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(AnswerTooLarge);
    expect(refused).toHaveProperty('message', 'GET /v1/research returned 200, but the body is larger than 4000 bytes');
    expect(budget.asked).toHaveLength(1);
    // A single item can't be asked for in parts.
    expect((await api.page({ ...RESEARCH, limit: 1 })).items).toHaveLength(1);
  });

  it('survives what may pass by itself, each attempt on a slot of its own', async () => {
    const { api, budget, exchanges } = await apiOf(
      playing(
        status(500, '<title>Oops</title>'),
        (request) => request.socket.destroy(),
        status(200, '{"data":[{"job_'),
        status(429, '', { 'retry-after': '1' }),
        status(200, '<html>Sign in</html>'),
      ),
    );
    const own: Exchange[] = [];
    const page = await api.page({ ...RESEARCH, onExchange: (exchange) => own.push(exchange) });
    expect(page.items).toHaveLength(1);
    expect(budget.asked).toHaveLength(6);
    expect(exchanges.map((each) => [each.status, each.error?.constructor])).toEqual([
      [500, ServiceError],
      [undefined, TransportError],
      [200, MalformedAnswer],
      [429, RateLimited],
      [200, MalformedAnswer],
      [200, undefined],
    ]);
    expect(own).toEqual(exchanges);
  });

  it.each([
    [401, '{"detail":"bad key"}', KeyRefused, ': bad key'],
    [403, '', KeyRefused, ''],
    [404, '{"error":{"code":"none","message":"No such list"}}', RequestRefused, ': No such list (none)'],
    [402, '', RequestRefused, ''],
    [422, '{"detail":[{"msg":"limit"}]}', RequestRefused, ': limit'],
    [
      302,
      '',
      RequestRefused,
      ' (a redirect to https://elsewhere.example, which is not followed with a key). Set MIRROR_API_URL to the service itself',
    ],
  ])('is not asked for again when it is refused: %i %s', async (code, body, kind, words) => {
    const { api, budget } = await apiOf(playing(status(code, body, code === 302 ? REDIRECT : {})));
    const thrown = await api.page(RESEARCH).catch((reason: unknown) => reason);
    expect(thrown).toEqual(new kind(`GET /v1/research returned ${code}${words}`, code));
    expect(thrown).toBeInstanceOf(kind);
    expect(budget.asked).toHaveLength(1);
  });

  it.each([
    [status(503, 'busy'), ServiceError, 'returned 503: busy'],
    [status(408), ServiceError, 'returned 408'],
    [status(200), MalformedAnswer, 'returned 200, but the body is empty'],
    [status(204), MalformedAnswer, 'returned 204, but only a 200 proves what the service has'],
    [status(206, PAGE), MalformedAnswer, 'returned 206, but only a 200 proves what the service has'],
    [status(200, '{"error":"down"}'), MalformedAnswer, 'returned 200, but the body is an error: down'],
    [
      status(200, FALSE_END),
      MalformedAnswer,
      'returned 200, but it contradicts itself: it has no item, but "total" is 9',
    ],
    [
      (request: IncomingMessage) => request.socket.destroy(),
      TransportError,
      /^GET \/v1\/research: 127\.0\.0\.1:\d+ closed the connection before it answered \(UND_ERR_SOCKET\)$/,
    ],
  ])('is given up when it fails again and again: %#', async (answer, kind, message) => {
    const { api, budget } = await apiOf(answer, { retries: { ...RETRY_LIMITS, attempts: 2 } });
    const thrown = await api.page(RESEARCH).catch((reason: unknown) => reason);
    expect(thrown).toBeInstanceOf(kind);
    expect((thrown as Error).message).toMatch(typeof message === 'string' ? `GET /v1/research ${message}` : message);
    expect(budget.asked).toHaveLength(2);
  });

  it('says how long a 429 stops the group', async () => {
    const retries = { ...RETRY_LIMITS, rateLimitedMs: 0 };
    const { api } = await apiOf(status(429, '', { 'retry-after': '12.5' }), { retries });
    await expect(api.page(RESEARCH)).rejects.toMatchObject({ retryAfter: 13 });
  });

  it('shows the key in no error, even if the service repeats it', async () => {
    const answers = playing(status(401, `{"error":"key ${KEY} is unknown"}`), status(200, `{"error":"${KEY}?"}`));
    const { api } = await apiOf(answers, { retries: { ...RETRY_LIMITS, attempts: 1 } });
    await expect(api.page(RESEARCH)).rejects.toThrow('GET /v1/research returned 401: key *** is unknown');
    await expect(api.page(RESEARCH)).rejects.toThrow(/the body is an error: \*\*\*\?$/);
  });
});

it('says that the service is down by the request, too, that finds out', async () => {
  const gate = new ServiceGate(
    systemClock,
    () => 0,
    () => {},
  );
  const { api, exchanges } = await apiOf(status(500, 'oops'), { gate });
  const asked = { path: PING_ROUTE, route: PING_ROUTE, priority: PRIORITY.POLL, signal: RESEARCH.signal };
  const ask = (): Promise<unknown> => api.object(asked).catch((error: unknown) => error);
  expect([await ask(), await ask()]).toEqual([expect.any(ServiceError), expect.any(ServiceDown)]);
  // Five attempts are one request's; the third that failed after them shut the gate.
  expect(exchanges).toHaveLength(8);
});

describe('a budget', () => {
  it('gets the slot back when an abort comes before anything was written, and the caller its reason', async () => {
    const stop = new Error('stop');
    const controller = new AbortController();
    const thrown: unknown[] = [];
    let requests = 0;
    const run: Budget['run'] = (_, send) => {
      controller.abort(stop);
      return send(controller.signal).catch((error: unknown) => {
        thrown.push(error);
        throw error;
      });
    };
    const { api, exchanges } = await apiOf(() => void (requests += 1), { budget: { run } });
    await expect(api.page(RESEARCH)).rejects.toBe(stop);
    expect(thrown).toEqual([expect.any(NotSent)]);
    expect([requests, exchanges]).toEqual([0, []]);
  });

  it('that can reserve nothing passes its error on at once: repeating would send what may not be sent', async () => {
    const error = new Unusable('lease lost');
    let asked = 0;
    const run = async (): Promise<never> => {
      asked += 1;
      throw error;
    };
    const { api } = await apiOf(status(200, PAGE), { budget: { run } });
    await expect(api.page(RESEARCH)).rejects.toBe(error);
    expect(asked).toBe(1);
  });
});
