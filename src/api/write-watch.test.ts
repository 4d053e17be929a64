import type { Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { SELF_SIGNED } from '../../test/support/network/self-signed.ts';
import { socketServers, through } from '../../test/support/network/socket-servers.ts';
import { TransportError } from '../model/errors.ts';

// Whether a request may have reached the service, by real sockets: the other end tells what came.

const { serve, tcp, service, tunnelTo, post, closeAll } = socketServers();

/** Whether the failed request may have been sent, as it says itself. */
async function sentness(request: Promise<unknown>): Promise<boolean> {
  const error: unknown = await request.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(TransportError);
  return error instanceof TransportError && error.sent;
}

describe('a request is known not to have been sent', () => {
  it('when the name is not found', async () => {
    expect(await sentness(post('https://service.invalid'))).toBe(false);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['speaks no TLS', (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    [
      'resets the connection within the handshake',
      (socket) => void socket.once('data', () => socket.resetAndDestroy()),
    ],
    ['closes at once', (socket) => void socket.end()],
  ])('when a server that should speak TLS %s', async (_, onConnection) => {
    const port = await tcp(onConnection);
    expect(await sentness(post(`https://127.0.0.1:${port}`))).toBe(false);
  });

  it.each(['127.0.0.1', 'localhost'])('when the certificate of %s is not trusted', async (host) => {
    let bytes = 0;
    const port = await serve(
      createTlsServer(SELF_SIGNED, (socket) => {
        socket.on('error', () => {}).on('data', (chunk: Buffer) => (bytes += chunk.length));
      }).on('tlsClientError', () => {}),
    );
    expect(await sentness(post(`https://${host}:${port}`))).toBe(false);
    expect(bytes).toBe(0);
  });

  it('when no TLS handshake comes about in time', async () => {
    const port = await tcp(() => {});
    expect(await sentness(post(`https://127.0.0.1:${port}`, {}, { limits: { connectMs: 100 } }))).toBe(false);
    expect(await sentness(post(`https://127.0.0.1:${port}`, {}, { limits: { totalMs: 100 } }))).toBe(false);
  });

  it.each([
    'HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n',
    'HTTP/1.1 407 Who\r\ncontent-length: 0\r\n\r\n',
    '',
  ])('when the proxy refuses the tunnel: %j', async (refusal) => {
    const proxy = await tcp((socket) => void socket.once('data', () => socket.end(refusal)));
    expect(await sentness(post('https://service.invalid', {}, { proxy: through(proxy) }))).toBe(false);
  });

  it('when the proxy itself refuses the connection, or lets the tunnel’s TLS fail', async () => {
    const target = await service();
    const proxy = await tunnelTo(target.port);
    expect(await sentness(post('https://service.invalid', {}, { proxy: through(proxy) }))).toBe(false);
    expect(target.received).toEqual([]);
    closeAll();
    expect(await sentness(post('https://service.invalid', {}, { proxy: through(proxy) }))).toBe(false);
  });

  it('when whoever asks says no in the last moment, with the connection there', async () => {
    const { port, received } = await service();
    let asked = 0;
    const mayWrite = (): boolean => {
      asked += 1;
      return false;
    };
    expect(await sentness(post(`http://127.0.0.1:${port}`, { mayWrite }))).toBe(false);
    expect([asked, received]).toEqual([1, []]);
  });

  it('when it was aborted while no connection came about, and it is not sent later', async () => {
    let written = false;
    const server = await tcp((socket) => void socket.on('data', () => {}));
    const abort = new AbortController();
    const mayWrite = (): boolean => (written = true);
    const request = post(`https://127.0.0.1:${server}`, { signal: abort.signal, mayWrite });
    const stop = new Error('stop');
    abort.abort(stop);
    await expect(request).rejects.toBe(stop);
    expect(written).toBe(false);
  });
});

describe('a request may have been sent', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['accepts and closes at once', (socket) => void socket.end()],
    ['resets after it read', (socket) => void socket.once('data', () => socket.resetAndDestroy())],
    ['closes after it read', (socket) => void socket.once('data', () => socket.end())],
    [
      'breaks off within the headers',
      (socket) => void socket.once('data', () => socket.end('HTTP/1.1 200 O')),
    ],
    ['answers nonsense', (socket) => void socket.once('data', () => socket.end('SSH-2.0-nonsense\r\n'))],
  ])('when the server %s', async (_, onConnection) => {
    let connections = 0;
    const port = await tcp((socket) => {
      connections += 1;
      onConnection(socket);
    });
    expect(await sentness(post(`http://127.0.0.1:${port}`))).toBe(true);
    // Nobody sends it again behind our back.
    expect(connections).toBe(1);
  });

  it('when the server accepts and resets at once, if it was begun by then', async () => {
    let bytes = 0;
    const port = await tcp((socket) => {
      socket.on('data', (chunk: Buffer) => (bytes += chunk.length));
      socket.resetAndDestroy();
    });
    for (let count = 0; count < 20; count += 1) {
      let begun = false;
      const mayWrite = (): boolean => (begun = true);
      expect(await sentness(post(`http://127.0.0.1:${port}`, { mayWrite }))).toBe(begun);
    }
    expect(bytes).toBe(0);
  });

  it('when a proxy that forwards it without a tunnel breaks the connection', async () => {
    const proxy = await tcp((socket) => void socket.once('data', () => socket.resetAndDestroy()));
    const http = `http://127.0.0.1:${proxy}`;
    const forward = { proxy: { http, https: undefined, except: undefined } };
    expect(await sentness(post('http://127.0.0.1:9', {}, forward))).toBe(true);
  });

  it('when the time for headers is over', async () => {
    const port = await tcp(() => {});
    const limits = { headersMs: 100 };
    expect(await sentness(post(`http://127.0.0.1:${port}`, {}, { limits }))).toBe(true);
  });

  it('when the time for all of it is over', async () => {
    const port = await tcp(() => {});
    // It is over as soon as the request is written, however long that took.
    const written = Promise.withResolvers<void>();
    const mayWrite = (): boolean => {
      written.resolve();
      return true;
    };
    const options = { limits: { totalMs: 100 }, clock: { ...systemClock, sleep: () => written.promise } };
    expect(await sentness(post(`http://127.0.0.1:${port}`, { mayWrite }, options))).toBe(true);
  });

  it('when it was asked whether it may be written, and aborted later', async () => {
    const port = await tcp(() => {});
    const abort = new AbortController();
    const written = Promise.withResolvers<void>();
    const mayWrite = (): boolean => {
      written.resolve();
      return true;
    };
    const request = post(`http://127.0.0.1:${port}`, { signal: abort.signal, mayWrite });
    await written.promise;
    const stop = new Error('stop');
    abort.abort(stop);
    await expect(request).rejects.toBe(stop);
  });
});
