import { describe, expect, it } from 'vitest';
import { PAGE, playedApis, playing, RESEARCH, status } from '../../test/support/network/played-api.ts';
import { type Budget, NotSent } from './budget.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { Unusable } from '@research-mirror/runtime/errors';
import {
  AnswerTooLarge,
  MalformedAnswer,
  RateLimited,
  ServiceDown,
  ServiceError,
  TransportError,
} from '../model/errors.ts';
import type { Exchange } from './attempt.ts';
import { PRIORITY } from './rate-groups.ts';
import { PING_ROUTE, ServiceGate } from './service-gate.ts';

const apiOf = playedApis();

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
