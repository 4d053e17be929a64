import type { IncomingMessage, RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { listen } from '@research-mirror/runtime/testing/loopback-server';
import { openBudget } from '../../test/support/budget/open-budget.ts';
import { answerWith, KEY, transports } from '../../test/support/network/transports.ts';
import type { Budget } from '../budget/budget.ts';
import { NotSent } from '../budget/not-sent.ts';
import { PRIORITY } from '../budget/priorities.ts';
import { KeyRefused, LeaseLost, RateLimited, ServiceError, TransportError } from '../model/errors.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import type { Exchange } from './attempt.ts';
import { sendOnce, type OnceRequest } from './once.ts';

const { serve: listening, transport: transportTo } = transports();
const never = new AbortController().signal;
const SEQUENCE: OnceRequest = {
  method: 'POST',
  path: '/v1/research/7/sequence',
  route: '/v1/research/{id}/sequence',
  priority: PRIORITY.SUBMISSION,
  body: '{"steps":9007199254740993}',
  idempotencyKey: '0f8fad5b-d9cb-469f-a165-70867728950e',
  signal: never,
};

/** A budget that keeps what its sends threw: by a NotSent it would give the slot back. */
function watchedBudget(): Pick<Budget, 'run'> & { readonly thrown: unknown[] } {
  const inner = openBudget();
  const thrown: unknown[] = [];
  return {
    thrown,
    run: (request, send) =>
      inner.run(request, (signal) =>
        send(signal).catch((error: unknown) => {
          thrown.push(error);
          throw error;
        }),
      ),
  };
}

function linkTo(baseUrl: string) {
  const transport = transportTo(baseUrl);
  const budget = watchedBudget();
  const exchanges: Exchange[] = [];
  const link = {
    transport,
    key: KEY,
    budget,
    clock: systemClock,
    scrub: (text: string) => text.replaceAll(KEY, '***'),
    onExchange: (exchange: Exchange) => exchanges.push(exchange),
  };
  const send = (asked: Partial<OnceRequest> = {}) => sendOnce(link, { ...SEQUENCE, ...asked });
  return { send, budget, exchanges };
}

async function serve(listener: RequestListener) {
  return linkTo((await listening(listener)).url);
}

async function refusing() {
  const server = await listen(() => {});
  await server.close();
  return linkTo(server.url);
}

describe('a request that is sent once', () => {
  it('carries its body as it is and its idempotency key, and gives the answer as it came', async () => {
    const seen: { request: IncomingMessage; body: string }[] = [];
    const { send, exchanges } = await serve((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        seen.push({ request, body });
        response.writeHead(202, { 'x-ratelimit-limit': '20' }).end('{"job_id":9007199254740993}');
      });
    });
    const answer = await send();
    expect(answer).toMatchObject({
      status: 202,
      headers: { 'x-ratelimit-limit': '20' },
      text: '{"job_id":9007199254740993}',
      bodyError: undefined,
      refusal: undefined,
    });
    expect(seen).toHaveLength(1);
    expect(seen[0]?.body).toBe(SEQUENCE.body);
    expect(seen[0]?.request).toMatchObject({
      method: 'POST',
      url: '/v1/research/7/sequence',
      headers: { 'idempotency-key': SEQUENCE.idempotencyKey, 'content-type': 'application/json' },
    });
    expect(exchanges).toMatchObject([
      { method: 'POST', route: SEQUENCE.route, status: 202, error: undefined },
    ]);
  });

  it.each([
    [429, RateLimited],
    [500, ServiceError],
    [401, KeyRefused],
  ])('is not repeated by itself after a %i: that is an answer', async (status, kind) => {
    let count = 0;
    const { send, budget, exchanges } = await serve((request, response) => {
      count += 1;
      answerWith(`{"error":"no, ${KEY}"}`, { 'retry-after': '0' }, status)(request, response);
    });
    const answer = await send();
    expect(answer).toMatchObject({ status, text: `{"error":"no, ${KEY}"}` });
    expect(answer?.refusal).toBeInstanceOf(kind);
    expect(answer?.refusal?.message).toBe(`POST /v1/research/7/sequence was answered ${status}: no, ***`);
    expect([count, budget.thrown, exchanges.map((each) => each.status)]).toEqual([1, [], [status]]);
  });

  it('counts by its status although the body breaks off, or is too large', async () => {
    const { send } = await serve((request, response) => {
      response.setHeader('content-length', '100');
      response.write('{"job', () => request.socket.destroy());
    });
    expect(await send()).toMatchObject({
      status: 200,
      text: '',
      bodyError: expect.stringMatching(/broke off after 5 bytes/),
    });
    const large = await serve(answerWith('', { 'content-length': '99999999' }));
    expect((await large.send())?.bodyError).toMatch(/larger than/);
  });
});

describe('what is not sent', () => {
  it('gives its slot back when the claim says no, and nothing goes out', async () => {
    let count = 0;
    const { send, budget, exchanges } = await serve(() => (count += 1));
    expect(await send({ claim: async () => false })).toBeUndefined();
    expect(budget.thrown).toEqual([expect.any(NotSent)]);
    expect([count, exchanges]).toEqual([0, []]);
  });

  it('gives its slot back when the claim fails, whose error is passed on', async () => {
    const { send, budget } = await serve(() => {});
    const error = new Error('database is away');
    await expect(send({ claim: () => Promise.reject(error) })).rejects.toBe(error);
    expect(budget.thrown).toEqual([expect.any(NotSent)]);
  });

  it('gives its slot back when the connection is refused', async () => {
    const { send, budget, exchanges } = await refusing();
    await expect(send()).rejects.toMatchObject({ name: 'TransportError', sent: false });
    expect(budget.thrown).toEqual([expect.any(NotSent)]);
    expect(exchanges).toMatchObject([{ status: undefined, error: { name: 'TransportError' } }]);
  });

  it('gives its slot back when it is too late for it in the last moment', async () => {
    let count = 0;
    const { send, budget } = await serve(() => (count += 1));
    await expect(send({ mayWrite: () => false })).rejects.toMatchObject({ sent: false });
    expect([count, budget.thrown]).toEqual([0, [expect.any(NotSent)]]);
  });

  it('gives its slot back when the process may ask nothing any more, which is passed on', async () => {
    const budget = watchedBudget();
    const lost = new LeaseLost('no heartbeat reached the database in time');
    const transport = {
      send: () => {
        throw lost;
      },
    };
    const link = { transport, key: KEY, budget, clock: systemClock, scrub: String };
    await expect(sendOnce(link, SEQUENCE)).rejects.toBe(lost);
    expect(budget.thrown).toEqual([expect.any(NotSent)]);
  });

  it.each(['signal', 'stop'] as const)(
    'gives its slot back when %s aborts during the claim',
    async (which) => {
      let count = 0;
      const { send, budget } = await serve(() => (count += 1));
      const controller = new AbortController();
      const claim = async (): Promise<boolean> => {
        controller.abort(new Error('stop'));
        return true;
      };
      await expect(send({ [which]: controller.signal, claim })).rejects.toMatchObject({
        name: 'TransportError',
        sent: false,
      });
      expect([count, budget.thrown]).toEqual([0, [expect.any(NotSent)]]);
    },
  );
});

describe('what may have been sent', () => {
  it('keeps its slot when the connection breaks, and is not sent again', async () => {
    let count = 0;
    const { send, budget } = await serve((request) => {
      count += 1;
      request.socket.resetAndDestroy();
    });
    await expect(send()).rejects.toMatchObject({ name: 'TransportError', sent: true });
    expect(count).toBe(1);
    expect(budget.thrown).toEqual([expect.any(TransportError)]);
  });

  it('is awaited after a stop, but not after an abort', async () => {
    const begun = [Promise.withResolvers<() => void>(), Promise.withResolvers<() => void>()];
    let count = 0;
    const { send, budget } = await serve((_, response) => {
      begun[count++]?.resolve(() => response.end('{}'));
    });
    const stop = new AbortController();
    const stopped = send({ stop: stop.signal });
    const answer = await begun[0]?.promise;
    stop.abort(new Error('stop'));
    answer?.();
    expect(await stopped).toMatchObject({ status: 200 });
    const abort = new AbortController();
    const aborted = send({ signal: abort.signal }).catch((error: unknown) => error);
    await begun[1]?.promise;
    const reason = new Error('gone');
    abort.abort(reason);
    expect(await aborted).toBe(reason);
    expect(budget.thrown).toEqual([reason]);
  });
});
