import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Server } from 'node:http';
import { describe, expect, it } from 'vitest';
import { envelope, SECRET, signedHeaders } from '../../../test/support/webhooks/signing.ts';
import { deliver, webhookListeners } from '../../../test/support/webhooks/webhook-listeners.ts';
import { Unusable } from '@research-mirror/runtime/errors';

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
  it('stores a delivery and answers 200; the same again 200', async () => {
    const { url, sink, answers } = await listen();
    const first = await deliver(url);
    expect([first.status, await first.text()]).toEqual([200, 'stored\n']);
    const second = await deliver(url);
    expect([second.status, await second.text()]).toEqual([200, 'known\n']);
    expect([...sink.events.keys()]).toEqual(['42/evt_1']);
    expect(answers).toEqual([200, 200]);
  });

  it('answers its health, and nothing else', async () => {
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

  it('answers targets that are no paths, and goes on', async () => {
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

  it('takes no compressed body', async () => {
    const { url, sink } = await listen();
    const body = envelope('evt_1');
    const signed = signedHeaders('hex', SECRET, body, 0);
    expect((await deliver(url, body, { ...signed, 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await deliver(url, body, { ...signed, 'content-encoding': 'identity' })).status).toBe(200);
    expect(sink.events.size).toBe(1);
  });

  it('takes the path of the public URL in front of its own', async () => {
    const { url } = await listen({ prefix: '/mirror' });
    expect((await deliver(`${url}/mirror`)).status).toBe(200);
  });

  it('says that its port is in use, and what to do', async () => {
    const { server } = await listen();
    await expect(listen({ port: server.port() })).rejects.toThrow(/MIRROR_WEBHOOK_PORT/);
    await expect(listen({ port: server.port() })).rejects.toBeInstanceOf(Unusable);
  });
});

it('goes on when a connection could not be accepted, and says so', async () => {
  const { server, url, lines } = await listen();
  (await serverBehind(`${url}/healthz`)).emit('error', new Error('accept EPERM'));
  expect((await deliver(url)).status).toBe(200);
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
  const first = deliver(url);
  await reached.promise;
  const stopped = server.stop();
  await expect(deliver(url, envelope('evt_2'))).rejects.toThrow('fetch failed');
  resolve();
  expect((await first).status).toBe(200);
  await stopped;
});
