import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { PAGE, playedApis, playing, RESEARCH, status } from '../../test/support/network/played-api.ts';
import { KEY } from '../../test/support/network/transports.ts';
import {
  KeyRefused,
  MalformedAnswer,
  RequestRefused,
  ServiceError,
  TransportError,
} from '../model/errors.ts';
import { RETRY_LIMITS } from './api.ts';

const apiOf = playedApis();

describe('a page', () => {
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
    [
      status(204),
      MalformedAnswer,
      'GET /v1/research was answered 204, but only a 200 proves what the service has',
    ],
    [
      status(206, PAGE),
      MalformedAnswer,
      'GET /v1/research was answered 206, but only a 200 proves what the service has',
    ],
    [
      status(200, '{"error":"down"}'),
      MalformedAnswer,
      'GET /v1/research was answered 200, but the body is an error: down',
    ],
    [
      status(200, '{"object":"list","data":[],"has_more":false,"total":9}'),
      MalformedAnswer,
      'GET /v1/research was answered 200, but it contradicts itself: it has no item, and "total" is 9',
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

  it('says how long a 429 stops the group', async () => {
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
