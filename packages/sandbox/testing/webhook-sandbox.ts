import { EventEmitter, once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { listen } from '@research-mirror/runtime/testing/loopback-server';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { EVENT_SWITCHES } from '../src/switches/sandbox-switches.ts';
import { httpSandbox } from './http-sandbox.ts';
import { optionsWith } from './sandbox.ts';

/**
 * Call it once in a test file: one sandbox with a webhook receiver for all its tests. Its only events are those of what
 * a test does; registration, deliveries and switches are as at first in each.
 */
export function webhookSandbox() {
  // Since 2020: all items are finished.
  const epoch = '2020-01-01T00:00:00Z';
  const { sandbox, ask } = httpSandbox({ epoch, jobs: 50, lists: 3, itemsPerList: 2 });
  const usual = Object.fromEntries(Object.entries(optionsWith()).filter(([name]) => name in EVENT_SWITCHES));
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterEach(async () => {
    await sandbox.control.change(usual);
    await sandbox.control.registerElsewhere({ url: null });
    receiver.reset();
  });
  afterAll(() => receiver.close());
  /** Sends a request to the service. @returns the body of the answer, {} for none */
  const call = async (path: string, method = 'GET', body?: unknown): Promise<Record<string, unknown>> =>
    (await ask(path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })).body;
  /** Registers the receiver. @returns the service's answer */
  const register = (types?: readonly string[]): Promise<Record<string, unknown>> =>
    call('/v1/webhooks/register', 'POST', {
      url: `${receiver.url}/hooks`,
      ...(types === undefined ? {} : { event_types: types }),
    });
  return {
    sandbox,
    get receiver() {
      return receiver;
    },
    call,
    register,
  };
}

/** A delivery as it arrived. */
interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A status; 'cut' resets the connection, 'silence' gives no answer. */
type ReceiverAnswer = number | 'cut' | 'silence';

type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** A webhook receiver: keeps the deliveries, and answers as told. */
async function startReceiver() {
  let received: Received[] = [];
  let answering: (received: Received) => ReceiverAnswer = () => 200;
  const arrivals = new EventEmitter();
  const server = await listen((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      const one = { path, headers, body: Buffer.concat(chunks).toString() };
      received.push(one);
      const how = answering(one);
      if (how === 'cut') request.socket.resetAndDestroy();
      else if (how !== 'silence') response.writeHead(how).end();
      arrivals.emit('delivery');
    });
  });
  return {
    url: server.url,
    /** All deliveries so far, in the order in which they were complete. */
    get received(): readonly Received[] {
      return received;
    },
    /** Resolves when `count` deliveries have arrived. */
    async got(count: number): Promise<readonly Received[]> {
      while (received.length < count) await once(arrivals, 'delivery');
      return received;
    },
    /** How to answer from now on. */
    answer(how: ReceiverAnswer | ((received: Received) => ReceiverAnswer)): void {
      answering = typeof how === 'function' ? how : () => how;
    },
    /** Forgets all deliveries, and answers 200 again. */
    reset(): void {
      received = [];
      answering = () => 200;
    },
    close: () => server.close(),
  };
}
