import { expect, it } from 'vitest';
import type { ClassifiedError } from '@research-mirror/runtime/errors';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { RateLimited, RequestRefused, ServiceError, TransportError } from '../model/errors.ts';
import { type GateNews, ServiceGate } from './service-gate.ts';

const NO_ANSWER = new TransportError('GET /v1/lists: here:1 refused the connection (ECONNREFUSED)');
const MAINTENANCE = new ServiceError('GET /v1/lists returned 503: maintenance', 503);
const ROUTES = ['/v1/lists', '/v1/research'] as const;
const REASON = 'here:1 refused the connection (ECONNREFUSED)';
const never = new AbortController().signal;

function gateOf() {
  const clock = new VirtualClock();
  const news: GateNews[] = [];
  const onNews = (each: GateNews): void => void news.push(each);
  const gate = new ServiceGate(clock, () => 1, onNews);
  const sent: number[] = [];
  /** A request that takes no time and ends so; its failure is thrown. */
  const ask = async (error?: ClassifiedError, route = ROUTES[0] as string, mayProbe = true): Promise<void> => {
    const passage = await gate.enter(route, mayProbe, never);
    try {
      if (!passage.mayGo()) throw new Error('shut');
      sent.push(clock.monotonic());
      passage.ended(error);
      if (error !== undefined) throw error;
    } finally {
      passage.left();
    }
  };
  const fail = async (times: number, error: ClassifiedError = NO_ANSWER): Promise<void> => {
    for (let nth = 0; nth < times; nth += 1) await ask(error, ROUTES[nth % 2]).catch(() => {});
  };
  return { clock, gate, news, sent, ask, fail };
}

it('the gate shuts after eight failures in a row on two routes, and says so once', async () => {
  const { news, fail, ask } = gateOf();
  await fail(7);
  await ask();
  await fail(7);
  expect(news).toEqual([]);
  await fail(1);
  expect(news).toEqual([{ state: 'closed', reason: REASON }]);
});

it('the gate shuts after eight failures of the ping alone, before which nothing else is sent', async () => {
  const { news, ask } = gateOf();
  for (let nth = 0; nth < 7; nth += 1) await ask(MAINTENANCE, '/v1/ping').catch(() => {});
  expect(news).toEqual([]);
  await ask(MAINTENANCE, '/v1/ping').catch(() => {});
  expect(news).toEqual([{ state: 'closed', reason: 'requests return 503: maintenance' }]);
});

it('the gate stays open for one endpoint, and for answers that are no trouble of the service', async () => {
  const { news, ask, fail } = gateOf();
  for (let nth = 0; nth < 50; nth += 1) await ask(NO_ANSWER).catch(() => {});
  await ask();
  await fail(50, new RateLimited('slow down', 1));
  await fail(50, new RequestRefused('no such thing', 404));
  expect(news).toEqual([]);
});

it('the gate lets one request at a time try, later and later; the others fail with it', async () => {
  const { clock, sent, fail, ask } = gateOf();
  await fail(8);
  const outcomes = new Set<string>();
  const asking = new AbortController();
  const loops = Array.from({ length: 36 }, async () => {
    while (!asking.signal.aborted) {
      await ask(NO_ANSWER).catch((error: Error) => outcomes.add(error.message));
      if (!asking.signal.aborted) await clock.sleep(1_000);
    }
  });
  await clock.advance(300_000);
  asking.abort();
  await clock.runUntil(Promise.all(loops));
  // 1 s, 2 s, 4 s, 8 s, 16 s, then each 20 s, and a second of the loops' own.
  expect(sent.length - 8).toBeLessThan(22);
  expect(sent.length - 8).toBeGreaterThan(15);
  expect(outcomes).toEqual(new Set([`the service is down: ${REASON}`, NO_ANSWER.message]));
});

it('the gate opens with the first answer, to all who wait', async () => {
  const { clock, news, sent, fail, ask } = gateOf();
  await fail(8);
  const waiting = [ask(), ask(), ask()];
  expect(sent).toHaveLength(8);
  await clock.runUntil(Promise.all(waiting));
  expect(sent).toHaveLength(11);
  expect(news.at(-1)).toEqual({ state: 'open', afterMs: 1_000 });
});

it('the gate opens for the answer to a request that was on the wire when it shut', async () => {
  const { gate, news, fail } = gateOf();
  const passage = await gate.enter(ROUTES[0], true, never);
  await fail(8);
  expect(passage.mayGo()).toBe(false);
  passage.ended(undefined);
  passage.left();
  expect(news.at(-1)).toEqual({ state: 'open', afterMs: 0 });
});

it('the gate never risks a request that must not be the probe', async () => {
  const { clock, sent, fail, ask } = gateOf();
  await fail(8);
  const write = ask(undefined, ROUTES[0], false);
  await clock.advance(60_000);
  expect(sent).toHaveLength(8);
  await ask();
  await write;
  expect(sent).toHaveLength(10);
});

it('the gate has another one try where the probe is given up before it was sent', async () => {
  const { clock, gate, sent, fail, ask } = gateOf();
  await fail(8);
  const first = gate.enter(ROUTES[0], true, never);
  const second = ask();
  await clock.advance(1_000);
  expect(sent).toHaveLength(8);
  (await first).left();
  await second;
  expect(sent).toHaveLength(9);
});

it('the gate lets a waiting request end at once when it is given up, and keeps no timer', async () => {
  const { clock, gate, fail } = gateOf();
  await fail(8, MAINTENANCE);
  const controller = new AbortController();
  const waiting = gate.enter(ROUTES[0], true, controller.signal);
  controller.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
  await expect(gate.enter(ROUTES[0], true, controller.signal)).rejects.toThrow('stopped');
  // A timer would keep the process alive.
  await clock.runUntilIdle(0);
});

it('the gate names what the last probe met', async () => {
  const { clock, fail, ask } = gateOf();
  await fail(8);
  const probe = ask(MAINTENANCE).catch(() => {});
  const waiting = ask().catch((error: Error) => error.message);
  await clock.runUntil(probe);
  expect(await waiting).toBe('the service is down: requests return 503: maintenance');
});
