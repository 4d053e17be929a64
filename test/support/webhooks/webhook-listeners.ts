import { connect, type Socket } from 'node:net';
import { afterEach } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import {
  createWebhookServer,
  type WebhookServer,
  type WebhookServerOptions,
} from '../../../src/events/webhook-server.ts';
import { MemoryAccounts, MemorySink, storedSecrets } from './receiving-accounts.ts';
import { envelope, SECRET, signedHeaders } from './signing.ts';

/** To be called once in a test file: listeners and connections are closed after each test. */
export function webhookListeners() {
  const servers: WebhookServer[] = [];
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await Promise.all(servers.splice(0).map((each) => each.stop()));
  });
  return {
    /** A listener for deliveries to account 42, which stores them in memory. */
    listen: async (options: Partial<WebhookServerOptions> = {}) => {
      const accounts = new MemoryAccounts();
      accounts.known.set('42', storedSecrets());
      const sink = new MemorySink();
      const answers: number[] = [];
      const lines: string[] = [];
      const server = createWebhookServer({
        host: '127.0.0.1',
        port: 0,
        header: 'X-Service-Signature',
        scheme: 'auto',
        accounts,
        store: sink,
        clock: systemClock,
        log: { info: (line) => lines.push(line), warn: (line) => lines.push(line) },
        onEvent: () => {},
        onAnswer: ({ status }) => answers.push(status),
        ...options,
      });
      servers.push(server);
      await server.start();
      return { server, url: `http://127.0.0.1:${server.port()}`, sink, answers, lines };
    },
    /** A connection that sends what it is given, and all that comes back. */
    raw: ({ server }: { readonly server: WebhookServer }) => {
      const socket = connect(server.port(), '127.0.0.1');
      sockets.push(socket);
      let heard = '';
      const ended = new Promise<string>((resolve) => {
        socket.on('data', (chunk) => {
          heard += chunk.toString();
        });
        socket.on('error', () => {});
        socket.on('close', () => resolve(heard));
      });
      return { socket, ended };
    },
  };
}

/** Delivers to account 42; signed unless `headers` are given. */
export function deliver(
  url: string,
  body = envelope('evt_1'),
  headers?: Record<string, string>,
): Promise<Response> {
  return fetch(`${url}/webhooks/42`, {
    method: 'POST',
    body,
    headers: headers ?? signedHeaders('hex', SECRET, body, 0),
  });
}
