import type { IncomingMessage, RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { openBudget } from '../../test/support/budget/open-budget.ts';
import { answerWith, KEY, servers } from '../../test/support/network/servers.ts';
import { type Budget, NotSent } from './budget.ts';
import { PRIORITY } from './rate-groups.ts';
import { KeyRefused, LeaseLost, RateLimited, ServiceError, TransportError } from '../model/errors.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { attemptSignal, type Exchange, type OnceRequest, sendOnce } from './attempt.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';

const { serve: listening, transport: transportTo } = servers();
const SEQUENCE: OnceRequest = {
  method: 'POST',
  path: '/v1/research/7/sequence',
  route: '/v1/research/{id}/sequence',
  priority: PRIORITY.SUBMISSION,
  body: '{"steps":9007199254740993}',
  idempotencyKey: '0f8fad5b-d9cb-469f-a165-70867728950e',
  signal: new AbortController().signal,
};

/** `thrown`: what the budget's sends threw; by a NotSent it would give the slot back. */
function linkTo(transport: Parameters<typeof sendOnce>[0]['transport']) {
  const inner = openBudget();
  const thrown: unknown[] = [];
  const budget: Pick<Budget, 'run'> = {
    run: (request, send) =>
      inner.run(request, (signal) =>
        send(signal).catch((error: unknown) => {
          thrown.push(error);
          throw error;
        }),
      ),
  };
  const exchanges: Exchange[] = [];
  const scrub = (text: string): string => text.replaceAll(KEY, '***');
  const onExchange = (exchange: Exchange): void => void exchanges.push(exchange);
  const link = { transport, key: KEY, budget, clock: systemClock, scrub, onExchange };
  const send = (asked: Partial<OnceRequest> = {}) => sendOnce(link, { ...SEQUENCE, ...asked });
  return { send, thrown, exchanges };
}

/** To a service, which counts its requests. */
async function serve(listener: RequestListener) {
  const served = { count: 0 };
  const { url } = await listening((request, response) => {
    served.count += 1;
    listener(request, response);
  });
  return { ...linkTo(transportTo(url)), served };
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
    expect(await send()).toMatchObject({
      status: 202,
      headers: { 'x-ratelimit-limit': '20' },
      text: '{"job_id":9007199254740993}',
      bodyError: undefined,
      refusal: undefined,
    });
    const headers = { 'idempotency-key': SEQUENCE.idempotencyKey, 'content-type': 'application/json' };
    const request = { method: 'POST', url: SEQUENCE.path, headers };
    expect(seen).toMatchObject([{ body: SEQUENCE.body, request }]);
    expect(exchanges).toMatchObject([{ method: 'POST', route: SEQUENCE.route, status: 202, error: undefined }]);
  });

  it.each([
    [429, RateLimited],
    [500, ServiceError],
    [401, KeyRefused],
  ])('is not repeated by itself after a %i: that is an answer', async (status, kind) => {
    const text = `{"error":"no, ${KEY}"}`;
    const { send, thrown, exchanges, served } = await serve(answerWith(text, { 'retry-after': '0' }, status));
    const answer = await send();
    expect(answer).toMatchObject({ status, text });
    expect(answer?.refusal).toBeInstanceOf(kind);
    expect(answer?.refusal?.message).toBe(`POST /v1/research/7/sequence returned ${status}: no, ***`);
    expect([served.count, thrown, exchanges.map((each) => each.status)]).toEqual([1, [], [status]]);
  });

  it('counts by its status although the body breaks off, or is too large', async () => {
    const broken = await serve((request, response) => {
      response.setHeader('content-length', '100');
      response.write('{"job', () => request.socket.destroy());
    });
    const bodyError = expect.stringMatching(/broke off after 5 bytes/) as string;
    expect(await broken.send()).toMatchObject({ status: 200, text: '', bodyError });
    const large = await serve(answerWith('', { 'content-length': '99999999' }));
    expect((await large.send())?.bodyError).toMatch(/larger than/);
  });
});

describe('what is not sent gives its slot back', () => {
  const NOTHING_SENT = expect.objectContaining({ name: 'TransportError', sent: false }) as unknown;
  const AWAY = new Error('database is away');
  const abortedDuringClaim = (which: 'signal' | 'stop'): Partial<OnceRequest> => {
    const controller = new AbortController();
    const claim = async (): Promise<boolean> => {
      controller.abort(new Error('stop'));
      return true;
    };
    return { [which]: controller.signal, claim };
  };

  it.each<[string, Partial<OnceRequest>, unknown, number]>([
    ['the claim says no', { claim: async () => false }, undefined, 0],
    ['the claim fails, whose error is passed on', { claim: () => Promise.reject(AWAY) }, AWAY, 0],
    ['it is too late for it in the last moment', { mayWrite: () => false }, NOTHING_SENT, 1],
    ['an abort comes during the claim', abortedDuringClaim('signal'), NOTHING_SENT, 1],
    ['a stop comes during the claim', abortedDuringClaim('stop'), NOTHING_SENT, 1],
  ])('when %s', async (_, asked, outcome, reported) => {
    const { send, thrown, exchanges, served } = await serve(() => {});
    expect(await send(asked).catch((error: unknown) => error)).toEqual(outcome);
    expect(thrown).toEqual([expect.any(NotSent)]);
    expect([served.count, exchanges.length]).toEqual([0, reported]);
  });

  it('when the process may ask nothing any more, which is passed on', async () => {
    const lost = new LeaseLost('no heartbeat reached the database in time');
    const { send, thrown } = linkTo({
      send: () => {
        throw lost;
      },
    });
    await expect(send()).rejects.toBe(lost);
    expect(thrown).toEqual([expect.any(NotSent)]);
  });
});

describe('what may have been sent', () => {
  it('keeps its slot when the connection breaks, and is not sent again', async () => {
    const { send, thrown, served } = await serve((request) => request.socket.resetAndDestroy());
    await expect(send()).rejects.toMatchObject({ name: 'TransportError', sent: true });
    expect([served.count, thrown]).toEqual([1, [expect.any(TransportError)]]);
  });

  it('is awaited after a stop, but not after an abort', async () => {
    const begun = [Promise.withResolvers<() => void>(), Promise.withResolvers<() => void>()];
    const { send, thrown, served } = await serve((_, response) => {
      begun[served.count - 1]?.resolve(() => response.end('{}'));
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
    expect(thrown).toEqual([reason]);
  });
});

type Step = 'sent' | 'stop' | 'abort' | 'ended' | number;

/** `why`: the reason with which it is aborted in the end. */
it.each<[string, readonly Step[], string | undefined]>([
  ['ends a wait for a slot as soon as there is a stop', ['stop'], 'stop'],
  ['lets a request on the wire be answered after a stop', ['sent', 'stop', 4_999], undefined],
  ['does so for as long as it is told', ['sent', 'stop', 5_000], 'stop'],
  ['ends a request on the wire at once when it is aborted', ['sent', 'abort'], 'abort'],
  ['forgets both once it has ended', ['sent', 'stop', 'ended', 'abort', 10_000], undefined],
])('the signal of an attempt %s', async (_, steps, why) => {
  const clock = new VirtualClock();
  const controllers = { stop: new AbortController(), abort: new AbortController() };
  const asked = { signal: controllers.abort.signal, stop: controllers.stop.signal };
  const tried = attemptSignal(asked, clock, () => 5_000);
  for (const step of steps) {
    if (typeof step === 'number') await clock.advance(step);
    else if (step === 'stop' || step === 'abort') controllers[step].abort(step);
    else tried[step]();
  }
  expect([tried.signal.aborted, tried.signal.reason]).toEqual([why !== undefined, why]);
});
