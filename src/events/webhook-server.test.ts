import { once } from 'node:events';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { MemoryAccounts, MemorySink } from '../../test/support/webhooks/receiving-accounts.ts';
import { envelope, SECRET, signedHeaders } from '../../test/support/webhooks/signing.ts';
import {
  ANSWER_MS,
  createWebhookServer,
  deliveryAccount,
  listenProblem,
  pathOf,
  type WebhookServer,
  type WebhookServerOptions,
} from './webhook-server.ts';

const servers: WebhookServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(servers.splice(0).map((each) => each.stop()));
});

/** A listener for deliveries to account 42, which stores them in memory. */
async function listen(options: Partial<WebhookServerOptions> = {}) {
  const sink = new MemorySink();
  const answers: number[] = [];
  const lines: string[] = [];
  const server = createWebhookServer({
    host: '127.0.0.1',
    port: 0,
    header: 'X-Service-Signature',
    scheme: 'auto',
    accounts: new MemoryAccounts(),
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
}

/** A connection that sends what it is given, and all that comes back. */
function raw({ server }: { readonly server: WebhookServer }) {
  const socket = connect(server.port(), '127.0.0.1').on('error', () => {});
  sockets.push(socket);
  let heard = '';
  socket.on('data', (chunk) => (heard += chunk.toString()));
  return { socket, ended: new Promise<string>((resolve) => socket.on('close', () => resolve(heard))) };
}

const signed = (body: string) => signedHeaders('hex', SECRET, body, 0);
/** Delivers to account 42, signed. */
const deliver = (url: string, body = envelope('evt_1'), more = {}): Promise<Response> =>
  fetch(`${url}/webhooks/42`, { method: 'POST', body, headers: { ...signed(body), ...more } });
/** An event whose data has that many bytes. */
const large = (id: string, bytes: number): string => envelope(id, { data: 'x'.repeat(bytes) });

/** The server of this process that answers at `url`: for what only the operating system can do to it. */
async function serverBehind(url: string): Promise<Server> {
  let found: unknown;
  const see = (message: unknown): void => {
    ({ server: found } = message as { server: unknown });
  };
  subscribe('http.server.request.start', see);
  await (await fetch(url)).text();
  unsubscribe('http.server.request.start', see);
  if (!(found instanceof Server)) throw new Error(`no server was seen at ${url}`);
  return found;
}

describe('the listener for deliveries', () => {
  it('stores a delivery and answers 200, also for its repetition', async () => {
    const { url, sink, answers } = await listen();
    const first = await deliver(url);
    expect([first.status, await first.text()]).toEqual([200, 'stored\n']);
    const second = await deliver(url);
    expect([second.status, await second.text()]).toEqual([200, 'known\n']);
    expect([...sink.events.keys()]).toEqual(['42/evt_1']);
    expect(answers).toEqual([200, 200]);
  });

  it('answers /healthz, and no other path', async () => {
    const { url, answers } = await listen();
    const statusOf = async (path: string, method = 'GET') => (await fetch(`${url}${path}`, { method })).status;
    expect(await (await fetch(`${url}/healthz`)).text()).toBe('ok\n');
    expect([await statusOf('/healthz'), await statusOf('/healthz', 'HEAD')]).toEqual([200, 200]);
    for (const path of ['/', '/webhooks', '/webhooks/', '/webhooks/x', '/metrics', '/healthz/'])
      expect([path, await statusOf(path)]).toEqual([path, 404]);
    expect(await statusOf('/healthz', 'POST')).toBe(404);
    expect(answers).toEqual([]);
  });

  it('answers targets that are no paths, and continues', async () => {
    const listening = await listen();
    const statusOf = async (target: string): Promise<string> => {
      const { socket, ended } = raw(listening);
      socket.write(`POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
      return (await ended).slice(9, 12);
    };
    const strange = ['//', '///', '//webhooks/42', '/\\', '/%', '/webhooks/%', '*', 'http://', 'http://['];
    for (const target of strange) expect([target, await statusOf(target)]).toEqual([target, '404']);
    expect(await statusOf(`/${'x'.repeat(100_000)}`)).toBe('431');
    expect((await deliver(listening.url)).status).toBe(200);
  });

  it('answers another method with 405', async () => {
    const { url } = await listen();
    const got = await fetch(`${url}/webhooks/42`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('refuses a compressed body', async () => {
    const { url, sink } = await listen();
    expect((await deliver(url, undefined, { 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await deliver(url, undefined, { 'content-encoding': 'identity' })).status).toBe(200);
    expect(sink.events.size).toBe(1);
  });

  it('accepts the path of the public URL in front of its own', async () => {
    expect((await deliver(`${(await listen({ prefix: '/mirror' })).url}/mirror`)).status).toBe(200);
  });

  it('reports that its port is in use, with the remedy', async () => {
    const { server } = await listen();
    const failure = await listen({ port: server.port() }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Unusable);
    expect(messageOf(failure)).toContain('MIRROR_WEBHOOK_PORT');
  });

  it('continues when a connection could not be accepted, and logs it', async () => {
    const { server, url, lines } = await listen();
    (await serverBehind(`${url}/healthz`)).emit('error', new Error('accept EPERM'));
    expect((await deliver(url)).status).toBe(200);
    expect(await Promise.race([server.ended, Promise.resolve('goes on')])).toBe('goes on');
    expect(lines).toEqual([expect.stringContaining('accept EPERM')]);
  });

  it('answers the present delivery when it is stopped, and no later one', async () => {
    const { server, url, sink } = await listen();
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.until = promise;
    const storing = vi.spyOn(sink, 'store');
    const first = deliver(url);
    await eventually('the delivery', () => storing.mock.calls.length > 0);
    const stopped = server.stop();
    await expect(deliver(url, envelope('evt_2'))).rejects.toThrow('fetch failed');
    resolve();
    expect((await first).status).toBe(200);
    await stopped;
  });
});

// What anybody on the internet can take of the listener, at most.

const head = (...headers: readonly string[]): string =>
  ['POST /webhooks/42 HTTP/1.1', 'Host: mirror', ...headers, '', ''].join('\r\n');

describe('a body', () => {
  it('of a mebibyte is accepted, and one byte more is not', async () => {
    const { url } = await listen();
    const most = large('evt_1', 1024 * 1024 - large('evt_1', 0).length);
    expect((await deliver(url, most)).status).toBe(200);
    const more = await deliver(url, `${most}x`);
    expect([more.status, more.headers.get('connection')]).toEqual([413, 'close']);
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

  it('that is too large is discarded for a while, so that a sender that continues is not reset', async () => {
    const listening = await listen();
    const { socket, ended } = raw(listening);
    const failures: Error[] = [];
    socket.on('error', (error) => failures.push(error));
    const send = (bytes: number): Promise<unknown> =>
      new Promise((resolve) => socket.write(`${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`, resolve));
    socket.write(head('Transfer-Encoding: chunked'));
    const answered = once(socket, 'data');
    await send(1024 * 1024 + 1);
    await answered;
    for (let part = 0; part < 8; part += 1) await send(65_536);
    socket.write('0\r\n\r\n');
    expect(await ended).toMatch(/^HTTP\/1.1 413 /);
    expect(failures).toEqual([]);
  });

  it('that waits for a 100 gets it, unless it would be refused', async () => {
    const listening = await listen();
    const body = envelope('evt_1');
    const signature = `X-Service-Signature: ${signed(body)['x-service-signature']}`;
    const asked = raw(listening);
    const wait = 'Expect: 100-continue';
    asked.socket.write(head(`Content-Length: ${body.length}`, signature, wait, 'Connection: close'));
    asked.socket.once('data', () => asked.socket.write(body));
    expect(await asked.ended).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 /);
    const refused = raw(listening);
    refused.socket.write(head('Content-Length: 2000000', wait));
    expect(await refused.ended).toMatch(/^HTTP\/1.1 413 /);
  });
});

it('the listener answers within a second: 503 to a delivery that takes longer to be stored, and keeps its room until it is', async () => {
  expect(ANSWER_MS).toBe(1_000);
  const { url, sink, lines } = await listen({ answerMs: 20, bounds: { roomBytes: 18_000 } });
  const { promise, resolve } = Promise.withResolvers<void>();
  sink.until = promise;
  expect((await deliver(url)).status).toBe(503);
  const second = await deliver(url, envelope('evt_2'));
  expect([second.status, second.headers.get('retry-after')]).toEqual([503, '5']);
  expect(await second.text()).toContain('too many requests');
  resolve();
  await eventually('room', async () => (await deliver(url)).status === 200);
  expect(lines[0]).toContain('the database takes too long');
});

it.each([
  ['announces too large a body', head('Content-Length: 1048577'), 413],
  ['takes too long to send its headers', 'POST /webhooks/42 HTTP/1.1\r\nX-A: ', 408],
  ['takes too long to send its body', `${head('Content-Length: 1000')}{"id":`, 408],
  ['is no HTTP', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc', 400],
])('cuts off what %s', async (_, text, status) => {
  const listening = await listen({ bounds: { headersMs: 100, requestMs: 200 } });
  const { socket, ended } = raw(listening);
  socket.write(text);
  expect((await ended).slice(0, 13)).toBe(`HTTP/1.1 ${status} `);
  // What is no whole request is no delivery.
  expect(listening.answers).toEqual(status === 413 ? [413] : []);
});

it('the listener answers connections beyond its bound with 503, and logs it', async () => {
  const listening = await listen({ bounds: { connections: 2 } });
  raw(listening);
  raw(listening);
  expect(await raw(listening).ended).toMatch(/^HTTP\/1.1 503 .*\r\n\r\nnot now: too many connections/s);
  expect(listening.lines).toEqual(['more than 2 connections for deliveries: new ones are refused']);
});

it.each([
  ['/webhooks/42', '42'],
  ['/webhooks/42/', '42'],
  ['/webhooks/42?x=1', '42'],
  ['/webhooks/9223372036854775807', '9223372036854775807'],
  ['/webhooks/9223372036854775808', undefined],
  ['/webhooks/12345678901234567890', undefined],
  ['/webhooks/007', undefined],
  ['/webhooks/-1', undefined],
  ['/webhooks/', undefined],
  ['/webhooks/42/x', undefined],
  ['//webhooks/42', undefined],
  ['/webhooks/%34%32', undefined],
  ['/hooks/webhooks/42', undefined],
  ['http://host/webhooks/42', undefined],
])('deliveryAccount reads the account of %s as %s', (target, userId) => {
  expect(deliveryAccount(pathOf(target))).toBe(userId);
});

it.each([
  ['/mirror/webhooks/42', '/mirror', '/webhooks/42'],
  ['/mirror/webhooks/42', '/mirror/', '/webhooks/42'],
  ['/webhooks/42', '/mirror', '/webhooks/42'],
  ['/mirrored/webhooks/42', '/mirror', '/mirrored/webhooks/42'],
  ['/webhooks/42', '/webhooks', '/webhooks/42'],
  ['/webhooks/webhooks/42', '/webhooks', '/webhooks/42'],
])('pathOf removes from %s the public URL’s path %s, where a proxy left it', (target, prefix, path) => {
  expect(pathOf(target, prefix)).toBe(path);
});

const PAGE = { host: '192.0.2.7', port: 80, what: 'the status page' };
it.each([
  ['EADDRINUSE', Unusable, /192\.0\.2\.7:80 for the status page is in use .*\. Set PORT/],
  ['EACCES', Unusable, /port 80 for the status page\. Set PORT to one above 1023/],
  ['EADDRNOTAVAIL', Unusable, /192\.0\.2\.7 for the status page is not an address .*\. Set another one in HOST/],
  ['ENOTFOUND', Unusable, /not an address of this machine\. Set another one in HOST/],
  ['EAI_AGAIN', Unusable, /not an address of this machine\. Set another one in HOST/],
  ['EMFILE', Error, /^192\.0\.2\.7:80 can't be listened on for the status page: listen EMFILE$/],
])('listenProblem names the variable that helps after %s, or quotes the system', (code, kind, message) => {
  const variables = { hostVariable: 'HOST', portVariable: 'PORT' };
  const problem = listenProblem(Object.assign(new Error(`listen ${code}`), { code }), {
    ...PAGE,
    ...variables,
  });
  expect(problem.constructor).toBe(kind);
  expect(messageOf(problem)).toMatch(message);
});
