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
import * as fc from 'fast-check';
import { quote, serviceMessage } from './envelope.ts';

const apiOf = playedApis();
const FALSE_END = '{"object":"list","data":[],"has_more":false,"total":9}';
const REDIRECT = { location: 'https://elsewhere.example/login?token=secret' };

describe('a page', () => {
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
      ' (a redirect to https://elsewhere.example; none is followed with a key: does MIRROR_API_URL name the service itself?)',
    ],
  ])('is not asked for again when it is refused: %i %s', async (code, body, kind, words) => {
    const { api, budget } = await apiOf(playing(status(code, body, code === 302 ? REDIRECT : {})));
    const thrown = await api.page(RESEARCH).catch((reason: unknown) => reason);
    expect(thrown).toEqual(new kind(`GET /v1/research was answered ${code}${words}`, code));
    expect(thrown).toBeInstanceOf(kind);
    expect(budget.asked).toHaveLength(1);
  });

  it.each([
    [status(503, 'busy'), ServiceError, 'was answered 503: busy'],
    [status(408), ServiceError, 'was answered 408'],
    [status(200), MalformedAnswer, 'was answered 200, but the body is empty'],
    [status(204), MalformedAnswer, 'was answered 204, but only a 200 proves what the service has'],
    [status(206, PAGE), MalformedAnswer, 'was answered 206, but only a 200 proves what the service has'],
    [status(200, '{"error":"down"}'), MalformedAnswer, 'was answered 200, but the body is an error: down'],
    [
      status(200, FALSE_END),
      MalformedAnswer,
      'was answered 200, but it contradicts itself: it has no item, and "total" is 9',
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
    expect((thrown as Error).message).toMatch(
      typeof message === 'string' ? `GET /v1/research ${message}` : message,
    );
    expect(budget.asked).toHaveLength(2);
  });

  it('says how long a 429 stops the group', async () => {
    const retries = { ...RETRY_LIMITS, rateLimitedMs: 0 };
    const { api } = await apiOf(status(429, '', { 'retry-after': '12.5' }), { retries });
    await expect(api.page(RESEARCH)).rejects.toMatchObject({ retryAfter: 13 });
  });

  it('shows the key in no error, even if the service repeats it', async () => {
    const answers = playing(
      status(401, `{"error":"key ${KEY} is unknown"}`),
      status(200, `{"error":"${KEY}?"}`),
    );
    const { api } = await apiOf(answers, { retries: { ...RETRY_LIMITS, attempts: 1 } });
    await expect(api.page(RESEARCH)).rejects.toThrow('GET /v1/research was answered 401: key *** is unknown');
    await expect(api.page(RESEARCH)).rejects.toThrow(/the body is an error: \*\*\*\?$/);
  });
});

describe('the message in a body', () => {
  it.each([
    ['{"error":{"code":"bad_key","message":"Invalid API key"}}', 'Invalid API key (bad_key)'],
    ['{"error":{"code":"bad_key"}}', 'bad_key'],
    ['{"error":"Invalid API key"}', 'Invalid API key'],
    ['{"detail":"Not found."}', 'Not found.'],
    [
      '{"detail":[{"loc":["query","limit"],"msg":"too large"},{"loc":["query","x"],"msg":"unknown"}]}',
      'query.limit: too large; query.x: unknown',
    ],
    ['{"message":"no","status":404}', 'no'],
    ['{"errors":[{"title":"A"},{"title":"B"}]}', 'A; B'],
    ['["a","b"]', 'a; b'],
    ['{"detail":{"error":{"message":"deep"}}}', 'deep'],
    ['{"x":1}', ''],
    ['null', ''],
    ['', ''],
    ['upstream timed out', 'upstream timed out'],
    ['<html><head><title>502 Bad Gateway</title></head><body>secret</body></html>', '502 Bad Gateway'],
    ['<html><body>secret</body></html>', ''],
  ])('%s is %j', (body, message) => {
    expect(serviceMessage(body)).toBe(message);
  });

  it('is a string for any body', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (body) => {
        expect(serviceMessage(body)).toBeTypeOf('string');
      }),
    );
  });
});

describe('a quote of the service', () => {
  const key = 'sk_live_0123456789';
  const scrub = (text: string) => text.replaceAll(key, '***');

  it('is one short line without control characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (words) => {
        const line = quote(words, scrub);
        expect(line.length).toBeLessThanOrEqual(200);
        expect(line).not.toMatch(/[\p{C}\n]/u);
      }),
      { numRuns: 30 },
    );
    expect(quote('\u001b[31mred\u001b[0m\r\n  text', scrub)).toBe('[31mred [0m text');
  });

  it('shows no part of a key, wherever the cut falls', () => {
    for (let before = 170; before < 201; before += 1) {
      expect(quote(`${'x'.repeat(before)}${key} is wrong`, scrub)).not.toContain('sk_');
    }
  });
});
