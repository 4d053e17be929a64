import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { listen, type LoopbackServer } from '../../test/support/loopback-server.ts';
import { openBudget } from '../../test/support/open-budget.ts';
import { NotSent } from '../budget/not-sent.ts';
import { PRIORITY } from '../budget/priorities.ts';
import {
  AnswerTooLarge,
  KeyRefused,
  MalformedAnswer,
  RateLimited,
  RequestRefused,
  ServiceError,
  TransportError,
  Unusable,
} from '../model/errors.ts';
import { systemClock } from '../runtime/clock.ts';
import { createApi, type ApiOptions, type Exchange, type PageRequest } from './api.ts';
import { RETRY_LIMITS } from './retry.ts';
import { createTransport, type TransportLimits } from './transport.ts';

const KEY = 'sk_test_0123456789';
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
const PAGE = '{"object":"list","data":[{"job_id":1}],"has_more":false}';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

async function apiOf(
  listener: RequestListener,
  options: Partial<ApiOptions> = {},
  limits: Partial<TransportLimits> = {},
) {
  const server: LoopbackServer = await listen(listener);
  const transport = createTransport({ baseUrl: server.url, clock: systemClock, userAgent: 'test', limits });
  open.push(server, transport);
  const budget = openBudget();
  const exchanges: Exchange[] = [];
  const api = createApi({
    transport,
    key: KEY,
    budget,
    clock: systemClock,
    random: () => 0,
    scrub: (text) => text.replaceAll(KEY, '***'),
    onExchange: (exchange) => exchanges.push(exchange),
    ...options,
  });
  return { api, budget, exchanges, server };
}

/** A service that plays these answers, one a request, and then good pages. */
function playing(...answers: ((request: IncomingMessage, response: ServerResponse) => void)[]) {
  let next = 0;
  return (request: IncomingMessage, response: ServerResponse): void => {
    const answer = answers[next++];
    if (answer === undefined) response.end(PAGE);
    else answer(request, response);
  };
}

const status =
  (code: number, body = '', headers: Record<string, string> = {}) =>
  (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(code, headers).end(body);
  };

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
    expect(refused).toHaveProperty(
      'message',
      'GET /v1/research was answered 200, but the body is larger than 4000 bytes',
    );
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
    [status(401, '{"detail":"bad key"}'), new KeyRefused('GET /v1/research was answered 401: bad key', 401)],
    [status(403), new KeyRefused('GET /v1/research was answered 403', 403)],
    [
      status(404, '{"error":{"code":"none","message":"No such list"}}'),
      new RequestRefused('GET /v1/research was answered 404: No such list (none)', 404),
    ],
    [status(402), new RequestRefused('GET /v1/research was answered 402', 402)],
    [
      status(422, '{"detail":[{"msg":"limit"}]}'),
      new RequestRefused('GET /v1/research was answered 422: limit', 422),
    ],
    [
      status(302, '', { location: 'https://elsewhere.example/login?token=secret' }),
      new RequestRefused(
        'GET /v1/research was answered 302 (a redirect to https://elsewhere.example; none is followed with a key: does MIRROR_API_URL name the service itself?)',
        302,
      ),
    ],
  ])('is not asked for again when it is refused: %#', async (answer, error) => {
    const { api, budget } = await apiOf(playing(answer));
    const thrown = await api.page(RESEARCH).catch((reason: unknown) => reason);
    expect(thrown).toEqual(error);
    expect(thrown).toBeInstanceOf(error.constructor);
    expect(budget.asked).toHaveLength(1);
  });

  it.each([
    [status(503, 'busy'), ServiceError, 'GET /v1/research was answered 503: busy'],
    [status(408), ServiceError, 'GET /v1/research was answered 408'],
    [status(200), MalformedAnswer, 'GET /v1/research was answered 200, but the body is empty'],
    [status(204), MalformedAnswer, 'GET /v1/research was answered 204, but the body is empty'],
    [
      status(200, '{"error":"down"}'),
      MalformedAnswer,
      'GET /v1/research was answered 200, but the body is an error: down',
    ],
    [
      (request: IncomingMessage) => request.socket.destroy(),
      TransportError,
      /^GET \/v1\/research: 127\.0\.0\.1:\d+ closed the connection before it answered \(UND_ERR_SOCKET\)$/,
    ],
  ])('is given up when it fails again and again: %#', async (answer, kind, message) => {
    const retries = { ...RETRY_LIMITS, attempts: 2 };
    const { api, budget } = await apiOf(answer, { retries });
    const thrown = await api.page(RESEARCH).catch((reason: unknown) => reason);
    expect(thrown).toBeInstanceOf(kind);
    expect((thrown as Error).message).toMatch(message);
    expect(budget.asked).toHaveLength(2);
  });

  it('tells how long a 429 stops the group', async () => {
    const retries = { ...RETRY_LIMITS, rateLimitedMs: 0 };
    const { api } = await apiOf(status(429, '', { 'retry-after': '12.5' }), { retries });
    await expect(api.page(RESEARCH)).rejects.toMatchObject({ retryAfter: 13 });
  });

  it('shows the key in no error, even if the service repeats it', async () => {
    const { api } = await apiOf(
      playing(status(401, `{"error":"key ${KEY} is unknown"}`), status(200, `{"error":"${KEY}?"}`)),
      { retries: { ...RETRY_LIMITS, attempts: 1 } },
    );
    await expect(api.page(RESEARCH)).rejects.toThrow('GET /v1/research was answered 401: key *** is unknown');
    await expect(api.page(RESEARCH)).rejects.toThrow(/the body is an error: \*\*\*\?$/);
  });
});

describe('a service that is not there', () => {
  it('costs no slot: the budget is told that nothing was sent', async () => {
    const gone = await listen(() => {});
    await gone.close();
    const transport = createTransport({ baseUrl: gone.url, clock: systemClock, userAgent: 'test' });
    open.push(transport);
    const thrown: unknown[] = [];
    const { api } = await apiOf(() => {}, {
      transport,
      retries: { ...RETRY_LIMITS, attempts: 1 },
      budget: {
        run: async (request, send) => {
          try {
            return await send(request.signal);
          } catch (error) {
            thrown.push(error);
            throw error;
          }
        },
      },
    });
    await expect(api.page(RESEARCH)).rejects.toMatchObject({
      name: 'TransportError',
      sent: false,
      message: `GET /v1/research: 127.0.0.1:${gone.port} refused the connection (ECONNREFUSED)`,
    });
    expect(thrown).toEqual([expect.any(NotSent)]);
  });
});

describe('an abort', () => {
  it('before anything was written gives the slot back, and its reason to the caller', async () => {
    const stop = new Error('stop');
    const controller = new AbortController();
    const thrown: unknown[] = [];
    let requests = 0;
    const listener = (): void => void (requests += 1);
    const { api, exchanges } = await apiOf(listener, {
      budget: {
        run: async (_, send) => {
          controller.abort(stop);
          try {
            return await send(controller.signal);
          } catch (error) {
            thrown.push(error);
            throw error;
          }
        },
      },
    });
    await expect(api.page(RESEARCH)).rejects.toBe(stop);
    expect(thrown).toEqual([expect.any(NotSent)]);
    expect({ requests, exchanges }).toEqual({ requests: 0, exchanges: [] });
  });

  it('ends the request on the wire, and nothing is sent again', async () => {
    const begun = Promise.withResolvers<void>();
    const { api, budget, exchanges } = await apiOf(() => begun.resolve());
    const controller = new AbortController();
    const page = api.page({ ...RESEARCH, signal: controller.signal }).catch((reason: unknown) => reason);
    await begun.promise;
    const stop = new Error('stop');
    controller.abort(stop);
    expect(await page).toBe(stop);
    expect(budget.asked).toHaveLength(1);
    expect(exchanges).toEqual([]);
  });

  it('ends a wait between attempts', async () => {
    const { api, exchanges } = await apiOf(status(500), { random: () => 1 });
    const controller = new AbortController();
    const stop = new Error('stop');
    const onExchange = () => {
      queueMicrotask(() => controller.abort(stop));
    };
    await expect(api.page({ ...RESEARCH, signal: controller.signal, onExchange })).rejects.toBe(stop);
    expect(exchanges).toHaveLength(1);
  });
});

describe('a budget that can reserve nothing', () => {
  it('passes its error on at once: repeating would send what may not be sent', async () => {
    const error = new Unusable('lease lost');
    let asked = 0;
    const { api } = await apiOf(status(200, PAGE), {
      budget: {
        run: async () => {
          asked += 1;
          throw error;
        },
      },
    });
    await expect(api.page(RESEARCH)).rejects.toBe(error);
    expect(asked).toBe(1);
  });
});

describe('an object', () => {
  it('comes with its own text', async () => {
    const text = '{"object":"ping","status":"ok","user_id":9007199254740993}';
    const { api } = await apiOf(status(200, text));
    const { signal, priority } = RESEARCH;
    const ping = await api.object({ path: '/v1/ping', route: '/v1/ping', signal, priority });
    expect(ping).toEqual({ source: text, fields: JSON.parse(text) as unknown });
  });
});
