import type { IncomingHttpHeaders } from 'node:http';
import { listen } from '@research-mirror/runtime/testing/loopback-server';

/** A delivery as it came. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Somebody to whom the sandbox delivers: keeps what comes, answers as told. */
export interface Receiver {
  readonly url: string;
  readonly port: number;
  /** Everything so far, in the order in which it came whole. */
  readonly received: readonly Received[];
  /** Resolves when `count` deliveries have come. */
  got(count: number): Promise<readonly Received[]>;
  /** What the next ones are answered: a status, 'cut' for a connection that is reset, 'silence' for no answer. */
  answer(how: Answering | ((received: Received) => Answering)): void;
  /** Forgets what came, and answers 200 again. */
  reset(): void;
  close(): Promise<void>;
}

export type Answering = number | 'cut' | 'silence';

export async function startReceiver(): Promise<Receiver> {
  let received: Received[] = [];
  let answering: (received: Received) => Answering = () => 200;
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
