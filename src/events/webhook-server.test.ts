import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Server } from 'node:http';
import { describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { HTTP_BOUNDS } from '@research-mirror/runtime/http-listener';
import { envelope, SECRET, signedHeaders } from '../../test/support/webhooks/signing.ts';
import { deliver, webhookListeners } from '../../test/support/webhooks/webhook-listeners.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import { ANSWER_MS } from './webhook-server.ts';

const { listen, raw } = webhookListeners();

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
    const health = await fetch(`${url}/healthz`);
    expect([health.status, await health.text()]).toEqual([200, 'ok\n']);
    expect((await fetch(`${url}/healthz`, { method: 'HEAD' })).status).toBe(200);
    for (const path of ['/', '/webhooks', '/webhooks/', '/webhooks/x', '/metrics', '/healthz/']) {
      expect((await fetch(`${url}${path}`)).status).toBe(404);
    }
    expect((await fetch(`${url}/healthz`, { method: 'POST' })).status).toBe(404);
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
    const body = envelope('evt_1');
    const signed = signedHeaders('hex', SECRET, body, 0);
    expect((await deliver(url, body, { ...signed, 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await deliver(url, body, { ...signed, 'content-encoding': 'identity' })).status).toBe(200);
    expect(sink.events.size).toBe(1);
  });

  it('accepts the path of the public URL in front of its own', async () => {
    const { url } = await listen({ prefix: '/mirror' });
    expect((await deliver(`${url}/mirror`)).status).toBe(200);
  });

  it('reports that its port is in use, with the remedy', async () => {
    const { server } = await listen();
    await expect(listen({ port: server.port() })).rejects.toThrow(/MIRROR_WEBHOOK_PORT/);
    await expect(listen({ port: server.port() })).rejects.toBeInstanceOf(Unusable);
  });
});

it('the listener continues when a connection could not be accepted, and logs it', async () => {
  const { server, url, lines } = await listen();
  (await serverBehind(`${url}/healthz`)).emit('error', new Error('accept EPERM'));
  expect((await deliver(url)).status).toBe(200);
  expect(await Promise.race([server.ended, Promise.resolve('goes on')])).toBe('goes on');
  expect(lines).toEqual([expect.stringContaining('accept EPERM')]);
});

it('the listener answers the present delivery when it is stopped, and no later one', async () => {
  const { server, url, sink } = await listen();
  const { promise, resolve } = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const store = sink.store.bind(sink);
  sink.store = (userId, event) => {
    reached.resolve();
    return store(userId, event);
  };
  sink.until = promise;
  const first = deliver(url);
  await reached.promise;
  const stopped = server.stop();
  await expect(deliver(url, envelope('evt_2'))).rejects.toThrow('fetch failed');
  resolve();
  expect((await first).status).toBe(200);
  await stopped;
});

// What anybody on the internet can take of the listener, at most.

function head(...headers: readonly string[]): string {
  return ['POST /webhooks/42 HTTP/1.1', 'Host: mirror', ...headers, '', ''].join('\r\n');
}

describe('a body', () => {
  it('of a mebibyte is accepted, and one byte more is not', async () => {
    const { url } = await listen();
    const rest = envelope('evt_1', { data: '' }).length;
    const most = envelope('evt_1', { data: 'x'.repeat(1024 * 1024 - rest) });
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

  it('that waits for a 100 gets it, unless it would be refused', async () => {
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

  it('is refused while others fill the room, and accepted when they are done', async () => {
    const { url, sink } = await listen({ bounds: { roomBytes: 100_000 } });
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.until = promise;
    const large = envelope('evt_1', { data: 'x'.repeat(60_000) });
    const first = deliver(url, large);
    const refused = await eventually('no room', async () => {
      const response = await deliver(url, envelope('evt_2', { data: 'x'.repeat(60_000) }));
      return response.headers.get('retry-after') === '5' && response;
    });
    expect(refused.status).toBe(503);
    resolve();
    expect((await first).status).toBe(200);
    expect((await deliver(url, envelope('evt_3', { data: 'x'.repeat(60_000) }))).status).toBe(200);
  });
});

it('the listener accepts a mebibyte, and answers within a second', () => {
  expect([HTTP_BOUNDS.bodyBytes, ANSWER_MS]).toEqual([1024 * 1024, 1_000]);
});

it('the listener answers 503 to a delivery that takes too long to be stored, and keeps its room until it is', async () => {
  const { url, sink, lines } = await listen({ answerMs: 20, bounds: { roomBytes: 18_000 } });
  const { promise, resolve } = Promise.withResolvers<void>();
  sink.until = promise;
  expect((await deliver(url)).status).toBe(503);
  const second = await deliver(url, envelope('evt_2'));
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
