import type { RequestListener } from 'node:http';
import { afterEach } from 'vitest';
import { createTransport, type HttpAnswer, type Transport } from '../../../src/service/transport.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { listen, type LoopbackServer } from '@research-mirror/runtime/testing/loopback-server';

type Options = Parameters<typeof createTransport>[0];

/** The API key that `get` sends. */
export const KEY = 'sk_test_0123456789';

/** Transports to real HTTP servers; all are closed after each test. To be called once in a test file. */
export function transports() {
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const each of open.splice(0).toReversed()) await each.close();
  });
  return {
    serve: async (listener: RequestListener): Promise<LoopbackServer> => {
      const server = await listen(listener);
      open.push(server);
      return server;
    },
    transport: (baseUrl: string, options: Partial<Options> = {}): Transport => {
      const userAgent = 'research-mirror/test';
      const made = createTransport({ baseUrl, clock: systemClock, userAgent, ...options });
      open.push(made);
      return made;
    },
  };
}

export function get(
  transport: Transport,
  path = '/v1/ping',
  signal = new AbortController().signal,
): Promise<HttpAnswer> {
  return transport.get(path, KEY, signal, 'page');
}

/** Answers every request so. */
export function answerWith(
  body: string | Buffer,
  headers: Record<string, string> = {},
  status = 200,
): RequestListener {
  return (_, response) => {
    response.writeHead(status, headers).end(body);
  };
}
