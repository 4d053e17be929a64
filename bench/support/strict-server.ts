import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '@research-mirror/runtime/clock';
import { Budget } from '../../src/service/budget.ts';
import { PRIORITY } from '../../src/service/rate-groups.ts';
import { slidingLog } from '../../test/support/budget/limiters.ts';
import { MemoryBudgetStore } from '../../test/support/budget/memory-budget-store.ts';

/** Requests that are wanted at any time: more than there are slots. */
const WORKERS = 100;

export interface RealRun {
  /** Monotonic milliseconds, in order. */
  readonly sentAt: readonly number[];
  readonly refused: number;
  readonly meanResponseMs: number;
}

/**
 * The budget in real time, over HTTP, against a strict sliding log.
 * @param travel least and most milliseconds of one direction
 */
export async function playInRealTime(
  limit: number,
  minutes: number,
  travel: readonly [number, number],
): Promise<RealRun> {
  const limiter = slidingLog(limit);
  const way = (): Promise<void> => sleep(travel[0] + Math.random() * (travel[1] - travel[0]));
  let refused = 0;
  const server = createServer((_request, response) => {
    void (async () => {
      await way();
      const { accepted, remaining, retryInMs } = limiter.ask(performance.now());
      if (!accepted) refused += 1;
      await way();
      response.writeHead(accepted ? 200 : 429, {
        'X-RateLimit-Limit': limit,
        'X-RateLimit-Remaining': remaining,
        ...(accepted ? {} : { 'Retry-After': Math.ceil(retryInMs / 1_000) }),
      });
      response.end();
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;

  const store = new MemoryBudgetStore(systemClock);
  const loaded = await store.load('key');
  const budget = new Budget({
    keyHash: 'key',
    clock: systemClock,
    share: 1,
    store,
    loaded,
    onEvent: () => {},
  });
  const [sentAt, responses]: [number[], number[]] = [[], []];
  const stop = new AbortController();
  const request = { group: 'other', route: 'GET /', priority: PRIORITY.POLL, signal: stop.signal } as const;
  const work = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await budget.run(request, async () => {
        const sent = systemClock.monotonic();
        sentAt.push(sent);
        const { status, headers } = await fetch(url);
        const receivedAt = systemClock.monotonic();
        responses.push(receivedAt - sent);
        return { status, headers: Object.fromEntries(headers), receivedAt };
      });
    }
  };
  const workers = Promise.allSettled(Array.from({ length: WORKERS }, work));
  await sleep(minutes * 60_000);
  stop.abort(new Error('the time is over'));
  budget.close(new Error('the time is over'));
  await workers;
  server.close();
  server.closeAllConnections();
  const meanResponseMs = responses.reduce((sum, each) => sum + each, 0) / responses.length;
  return { sentAt, refused, meanResponseMs };
}
