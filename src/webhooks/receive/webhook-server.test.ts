import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { serverBehind } from '../../../test/support/server-behind.ts';
import { MemoryAccounts, MemorySink, storedSecrets } from '../../../test/support/receiving-accounts.ts';
import { envelope, SECRET, signedHeaders } from '../../../test/support/signing.ts';
import { Unusable } from '../../model/errors.ts';
import { systemClock } from '../../runtime/clock.ts';
import {
  createWebhookServer,
  WEBHOOK_SERVER_LIMITS,
  type WebhookServer,
  type WebhookServerOptions,
} from './webhook-server.ts';

const servers: WebhookServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(servers.splice(0).map((each) => each.stop()));
});

interface Listening {
  readonly server: WebhookServer;
  readonly url: string;
  readonly sink: MemorySink;
  readonly answers: number[];
  readonly lines: string[];
}

async function listen(options: Partial<WebhookServerOptions> = {}): Promise<Listening> {
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
    onAnswer: (status) => answers.push(status),
    ...options,
  });
  servers.push(server);
  await server.start();
  return { server, url: `http://127.0.0.1:${server.port()}`, sink, answers, lines };
}

function post(url: string, body = envelope('evt_1'), headers?: Record<string, string>): Promise<Response> {
  return fetch(`${url}/webhooks/42`, {
    method: 'POST',
    body,
    headers: headers ?? signedHeaders('hex', SECRET, body, 0),
  });
}

/** A connection that sends what it is told, and keeps what it hears. */
function raw({ server }: Listening): { readonly socket: Socket; readonly ended: Promise<string> } {
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
}

function head(...headers: readonly string[]): string {
  return ['POST /webhooks/42 HTTP/1.1', 'Host: mirror', ...headers, '', ''].join('\r\n');
}

describe('the listener for deliveries', () => {
  it('stores a delivery and answers 200; the same again 200', async () => {
    const { url, sink, answers } = await listen();
    const first = await post(url);
    expect([first.status, await first.text()]).toEqual([200, 'stored\n']);
    const second = await post(url);
    expect([second.status, await second.text()]).toEqual([200, 'known\n']);
    expect([...sink.events.keys()]).toEqual(['42/evt_1']);
    expect(answers).toEqual([200, 200]);
  });

  it('tells its health, and nothing else', async () => {
    const { url, answers } = await listen();
    const health = await fetch(`${url}/healthz`);
    expect([health.status, await health.text()]).toEqual([200, 'ok\n']);
    expect((await fetch(`${url}/healthz`, { method: 'HEAD' })).status).toBe(200);
    for (const path of ['/', '/webhooks', '/webhooks/', '/webhooks/x', '/metrics', '/healthz/']) {
      expect((await fetch(`${url}${path}`)).status).toBe(404);
    }
    expect((await fetch(`${url}/healthz`, { method: 'POST' })).status).toBe(404);
    expect(answers).toEqual([]);
  });

  it('answers a wrong signature with 400, nobody’s address with 404, another method with 405', async () => {
    const { url } = await listen();
    expect((await post(url, envelope('evt_1'), { 'x-service-signature': 'ab'.repeat(32) })).status).toBe(400);
    expect((await fetch(`${url}/webhooks/43`, { method: 'POST', body: 'x' })).status).toBe(404);
    const got = await fetch(`${url}/webhooks/42`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('takes no compressed body', async () => {
    const { url, sink } = await listen();
    const body = envelope('evt_1');
    const signed = signedHeaders('hex', SECRET, body, 0);
    expect((await post(url, body, { ...signed, 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await post(url, body, { ...signed, 'content-encoding': 'identity' })).status).toBe(200);
    expect(sink.events.size).toBe(1);
  });

  it('takes the path of the public URL in front of its own', async () => {
    const { url } = await listen({ prefix: '/mirror' });
    expect((await post(`${url}/mirror`)).status).toBe(200);
  });

  it('says that its port is in use, and what to do', async () => {
    const { server } = await listen();
    await expect(listen({ port: server.port() })).rejects.toThrow(/MIRROR_WEBHOOK_PORT/);
    await expect(listen({ port: server.port() })).rejects.toBeInstanceOf(Unusable);
  });
});

describe('a body', () => {
  it('of a mebibyte is taken, one byte more is not', async () => {
    const { url } = await listen();
    const body = envelope('evt_1', { data: 'x'.repeat(1024 * 1024) });
    const most = body.slice(0, 1024 * 1024);
    expect((await post(url, most)).status).toBe(200);
    const more = await post(url, `${most}x`);
    expect([more.status, more.headers.get('connection')]).toEqual([413, 'close']);
  });

  it('that announces its size is refused before it is sent', async () => {
    const listening = await listen();
    const { socket, ended } = raw(listening);
    socket.write(head('Content-Length: 1048577'));
    expect(await ended).toMatch(/^HTTP\/1.1 413 /);
  });

  it('that never ends is refused after a mebibyte, and its connection is closed', async () => {
    const listening = await listen();
    const { socket, ended } = raw(listening);
    socket.write(head('Transfer-Encoding: chunked'));
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    let sent = 0;
    const more = (): void => {
      while (!socket.destroyed && socket.write(chunk)) sent += chunk.length;
    };
    socket.on('drain', more);
    more();
    expect(await ended).toMatch(/^HTTP\/1.1 413 /);
    expect(listening.sink.events.size).toBe(0);
    // What the sockets' own buffers hold is some megabytes.
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  it('that is too large is thrown away for a while: a sender that goes on is not reset', async () => {
    const listening = await listen();
    const { socket, ended } = raw(listening);
    const failures: Error[] = [];
    socket.on('error', (error) => failures.push(error));
    const send = (bytes: number): Promise<unknown> =>
      new Promise((resolve) => {
        socket.write(`${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`, resolve);
      });
    socket.write(head('Transfer-Encoding: chunked'));
    const answered = new Promise((resolve) => {
      socket.once('data', resolve);
    });
    await send(1024 * 1024 + 1);
    await answered;
    for (let part = 0; part < 8; part += 1) await send(65_536);
    socket.write('0\r\n\r\n');
    expect(await ended).toMatch(/^HTTP\/1.1 413 /);
    expect(failures).toEqual([]);
  });

  it('that waits to be asked for is asked for, unless it would be refused', async () => {
    const listening = await listen();
    const body = envelope('evt_1');
    const [signature] = Object.values(signedHeaders('hex', SECRET, body, 0));
    const asked = raw(listening);
    asked.socket.write(
      head(
        `Content-Length: ${body.length}`,
        `X-Service-Signature: ${signature}`,
        'Expect: 100-continue',
        'Connection: close',
      ),
    );
    asked.socket.once('data', () => asked.socket.write(body));
    expect(await asked.ended).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 /);
    const refused = raw(listening);
    refused.socket.write(head('Content-Length: 2000000', 'Expect: 100-continue'));
    expect(await refused.ended).toMatch(/^HTTP\/1.1 413 /);
  });

  it('finds no room while others fill it, and room again when they are done', async () => {
    const { url, sink } = await listen({ limits: { roomBytes: 100_000 } });
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.until = promise;
    const large = envelope('evt_1', { data: 'x'.repeat(60_000) });
    const first = post(url, large);
    const refused = await eventually('no room', async () => {
      const response = await post(url, envelope('evt_2', { data: 'x'.repeat(60_000) }));
      return response.headers.get('retry-after') === '5' && response;
    });
    expect(refused.status).toBe(503);
    resolve();
    expect((await first).status).toBe(200);
    expect((await post(url, envelope('evt_3', { data: 'x'.repeat(60_000) }))).status).toBe(200);
  });
});

it('takes a mebibyte, and answers within a second', () => {
  expect(WEBHOOK_SERVER_LIMITS).toMatchObject({ bodyBytes: 1024 * 1024, answerMs: 1_000 });
});

describe('a delivery that takes too long', () => {
  it('to be stored is answered 503; its room is taken until it is', async () => {
    const { url, sink, lines } = await listen({ limits: { answerMs: 20, roomBytes: 16 * 1024 } });
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.until = promise;
    expect((await post(url)).status).toBe(503);
    const second = await post(url, envelope('evt_2'));
    expect(await second.text()).toContain('too many deliveries');
    resolve();
    await eventually('room', async () => (await post(url)).status === 200);
    expect(lines[0]).toContain('the database takes too long');
  });

  it('to send its headers is cut off', async () => {
    const listening = await listen({ limits: { headersMs: 100, requestMs: 200 } });
    const { socket, ended } = raw(listening);
    socket.write('POST /webhooks/42 HTTP/1.1\r\nX-A: ');
    expect(await ended).toMatch(/^HTTP\/1.1 408 /);
  });

  it('to send its body is cut off', async () => {
    const listening = await listen({ limits: { headersMs: 100, requestMs: 200 } });
    const { socket, ended } = raw(listening);
    socket.write(`${head('Content-Length: 1000')}{"id":`);
    expect(await ended).toMatch(/^HTTP\/1.1 408 /);
    expect(listening.answers).toEqual([]);
  });
});

it('refuses headers of more than 16 KiB', async () => {
  const listening = await listen();
  const { socket, ended } = raw(listening);
  socket.write(head(`X-A: ${'a'.repeat(17_000)}`));
  expect(await ended).toMatch(/^HTTP\/1.1 431 /);
});

it('refuses what is no HTTP', async () => {
  const listening = await listen();
  const { socket, ended } = raw(listening);
  socket.write('\x16\x03\x01\x02\x00\x01\x00\x01\xfc');
  expect(await ended).toMatch(/^HTTP\/1.1 400 /);
});

it('drops connections beyond its bound, and says so', async () => {
  const listening = await listen({ limits: { connections: 2 } });
  raw(listening);
  raw(listening);
  expect(await raw(listening).ended).toBe('');
  expect(listening.lines).toEqual(['more than 2 connections for deliveries: new ones are refused']);
});

it('goes on when a connection could not be accepted, and says so', async () => {
  const { server, url, lines } = await listen();
  (await serverBehind(`${url}/healthz`)).emit('error', new Error('accept EPERM'));
  expect((await post(url)).status).toBe(200);
  expect(await Promise.race([server.ended, Promise.resolve('goes on')])).toBe('goes on');
  expect(lines).toEqual([expect.stringContaining('accept EPERM')]);
});

it('answers the delivery in hand when it is stopped, and nothing after it', async () => {
  const { server, url, sink } = await listen();
  const { promise, resolve } = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const store = sink.store.bind(sink);
  sink.store = (userId, event) => {
    reached.resolve();
    return store(userId, event);
  };
  sink.until = promise;
  const first = post(url);
  await reached.promise;
  const stopped = server.stop();
  await expect(post(url, envelope('evt_2'))).rejects.toThrow('fetch failed');
  resolve();
  expect((await first).status).toBe(200);
  await stopped;
});
