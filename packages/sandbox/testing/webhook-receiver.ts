import type { IncomingHttpHeaders } from 'node:http';
import { listen } from '@research-mirror/runtime/testing/loopback-server';

/** A delivery as it arrived. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A webhook receiver: keeps the deliveries, and answers as told. */
export interface Receiver {
  readonly url: string;
  readonly port: number;
  /** All deliveries so far, in the order in which they were complete. */
  readonly received: readonly Received[];
  /** Resolves when `count` deliveries have arrived. */
  got(count: number): Promise<readonly Received[]>;
  /** How to answer from now on: a status, 'cut' resets the connection, 'silence' gives no answer. */
  answer(how: ReceiverAnswer | ((received: Received) => ReceiverAnswer)): void;
  /** Forgets all deliveries, and answers 200 again. */
  reset(): void;
  close(): Promise<void>;
}

export type ReceiverAnswer = number | 'cut' | 'silence';

export async function startReceiver(): Promise<Receiver> {
  let received: Received[] = [];
  let answering: (received: Received) => ReceiverAnswer = () => 200;
  let watchers: { count: number; resolve: (all: readonly Received[]) => void }[] = [];
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
      for (const { count, resolve } of watchers) if (received.length >= count) resolve(received);
      watchers = watchers.filter(({ count }) => received.length < count);
    });
  });
  return {
    url: server.url,
    port: server.port,
    get received() {
      return received;
    },
    got: (count) =>
      new Promise((resolve) => {
        if (received.length >= count) resolve(received);
        else watchers.push({ count, resolve });
      }),
    answer(how) {
      answering = typeof how === 'function' ? how : () => how;
    },
    reset() {
      received = [];
      answering = () => 200;
    },
    close: () => server.close(),
  };
}
