import { createSecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { SELF_SIGNED } from '../../test/support/network/self-signed.ts';
import { servers, through } from '../../test/support/network/servers.ts';
import { TransportError } from '../model/errors.ts';
import { type TransportLimits, watchWriting } from './transport.ts';

// Whether a request may have reached the service, by real sockets: the other end tells what came.

const { listen, tcp, service, tunnelTo, transport, post, closeAll } = servers();

/** Whether the failed request may have been sent, as it says itself. */
async function sentness(...asked: Parameters<typeof post>): Promise<boolean> {
  const error = await post(...asked).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(TransportError);
  return (error as TransportError).sent;
}

describe('a request is known not to have been sent', () => {
  it('when the name is not found', async () => {
    expect(await sentness('https://service.invalid')).toBe(false);
  });

  it.each<[string, (socket: Socket) => void, Partial<TransportLimits>?]>([
    ['speaks no TLS', (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['resets within the handshake', (socket) => void socket.once('data', () => socket.resetAndDestroy())],
    ['closes at once', (socket) => void socket.end()],
    ['makes no handshake in the time for it', () => {}, { connectMs: 100 }],
    ['makes no handshake in the time for all', () => {}, { totalMs: 100 }],
  ])('when a server that should speak TLS %s', async (_, onConnection, limits = {}) => {
    expect(await sentness(`https://127.0.0.1:${await tcp(onConnection)}`, {}, { limits })).toBe(false);
  });

  it.each(['127.0.0.1', 'localhost'])('when the certificate of %s is not trusted', async (host) => {
    let bytes = 0;
    const port = await listen(
      createTlsServer(SELF_SIGNED, (socket) => {
        socket.on('error', () => {}).on('data', (chunk: Buffer) => (bytes += chunk.length));
      }).on('tlsClientError', () => {}),
    );
    expect(await sentness(`https://${host}:${port}`)).toBe(false);
    expect(bytes).toBe(0);
  });

  it.each(['HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n', 'HTTP/1.1 407 Who\r\ncontent-length: 0\r\n\r\n', ''])(
    'when the proxy refuses the tunnel: %j',
    async (refusal) => {
      const proxy = await tcp((socket) => void socket.once('data', () => socket.end(refusal)));
      expect(await sentness('https://service.invalid', {}, { proxy: through(proxy) })).toBe(false);
    },
  );

  it('when the proxy itself refuses the connection, or lets the tunnel’s TLS fail', async () => {
    const target = await service();
    const proxy = through(await tunnelTo(target.port));
    expect(await sentness('https://service.invalid', {}, { proxy })).toBe(false);
    expect(target.received).toEqual([]);
    await closeAll();
    expect(await sentness('https://service.invalid', {}, { proxy })).toBe(false);
  });

  it('when mayWrite says no on the open connection', async () => {
    const { url, received } = await service();
    let asked = 0;
    const mayWrite = (): boolean => (asked += 1) === 0;
    expect(await sentness(url, { mayWrite })).toBe(false);
    expect([asked, received]).toEqual([1, []]);
  });

  it('when it was aborted while no connection came about, and it is not sent later', async () => {
    let written = false;
    const port = await tcp((socket) => void socket.on('data', () => {}));
    const abort = new AbortController();
    const mayWrite = (): boolean => (written = true);
    const request = post(`https://127.0.0.1:${port}`, { signal: abort.signal, mayWrite });
    const stop = new Error('stop');
    abort.abort(stop);
    await expect(request).rejects.toBe(stop);
    expect(written).toBe(false);
  });
});

describe('a request may have been sent', () => {
  it.each<[string, (socket: Socket) => void, Partial<TransportLimits>?]>([
    ['accepts and closes at once', (socket) => void socket.end()],
    ['resets after it read', (socket) => void socket.once('data', () => socket.resetAndDestroy())],
    ['closes after it read', (socket) => void socket.once('data', () => socket.end())],
    ['breaks off in the headers', (socket) => void socket.once('data', () => socket.end('HTTP/1.1 200 O'))],
    ['answers nonsense', (socket) => void socket.once('data', () => socket.end('SSH-2.0-nonsense\r\n'))],
    ['sends no headers in the time for them', () => {}, { headersMs: 100 }],
  ])('when the server %s', async (_, onConnection, limits = {}) => {
    let connections = 0;
    const port = await tcp((socket) => {
      connections += 1;
      onConnection(socket);
    });
    expect(await sentness(`http://127.0.0.1:${port}`, {}, { limits })).toBe(true);
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
      expect(await sentness(`http://127.0.0.1:${port}`, { mayWrite })).toBe(begun);
    }
    expect(bytes).toBe(0);
  });

  it('when a proxy that forwards it without a tunnel breaks the connection', async () => {
    const port = await tcp((socket) => void socket.once('data', () => socket.resetAndDestroy()));
    const proxy = { http: `http://127.0.0.1:${port}`, https: undefined, except: undefined };
    expect(await sentness('http://127.0.0.1:9', {}, { proxy })).toBe(true);
  });

  /** Begins a request that is never answered; `written` resolves when it was asked whether it may be written. */
  const unanswered = async () => {
    const written = Promise.withResolvers<void>();
    const mayWrite = (): boolean => {
      written.resolve();
      return true;
    };
    return { url: `http://127.0.0.1:${await tcp(() => {})}`, written: written.promise, mayWrite };
  };

  it('when the time for all of it is over', async () => {
    const { url, written, mayWrite } = await unanswered();
    // It is over as soon as the request is written, however long that took.
    const clock = { ...systemClock, sleep: () => written };
    expect(await sentness(url, { mayWrite }, { limits: { totalMs: 100 }, clock })).toBe(true);
  });

  it('when it was asked whether it may be written, and aborted later', async () => {
    const { url, written, mayWrite } = await unanswered();
    const abort = new AbortController();
    const request = post(url, { signal: abort.signal, mayWrite });
    await written;
    const stop = new Error('stop');
    abort.abort(stop);
    await expect(request).rejects.toBe(stop);
  });
});

it.each([
  ['a second time is stopped: it was written once', [false, false], [true, false], true],
  ['and that was aborted by then was not written', [true], [true], false],
])('a request that undici begins %s', (_, aborted, letThrough, written) => {
  const begun: boolean[] = [];
  class Beginner extends Dispatcher {
    override dispatch(_options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      for (const each of aborted) {
        try {
          handler.onRequestStart?.({ aborted: each } as Dispatcher.DispatchController, {});
          begun.push(true);
        } catch {
          begun.push(false);
        }
      }
      return true;
    }
  }
  const watch = watchWriting(new Beginner());
  watch.dispatcher.dispatch({ path: '/', method: 'POST' }, {});
  expect([begun, watch.written()]).toEqual([letThrough, written]);
});

// What is sent once goes on a connection that nothing was sent on before, and nothing is afterwards.
describe('a request on a connection of its own', () => {
  it('never meets one that is kept, and says that it keeps none', async () => {
    const { url, received } = await service();
    const wire = transport(url);
    const signal = new AbortController().signal;
    const common = { path: '/v1/lists', key: 'k', signal, maxBytes: 100 } as const;
    await wire.send({ ...common, method: 'GET', once: false });
    const headers = { 'idempotency-key': 'u-1' };
    const once = { ...common, method: 'POST', once: true, body: '{"é":1}', headers } as const;
    for (let count = 0; count < 3; count += 1) expect(await wire.send(once)).toMatchObject({ status: 200, text: '{}' });
    expect(new Set(received.map((request) => request.socket)).size).toBe(4);
    expect(received.at(-1)).toMatchObject({
      method: 'POST',
      headers: {
        connection: 'close',
        'content-type': 'application/json',
        'content-length': '8',
        'idempotency-key': 'u-1',
        authorization: 'Bearer k',
      },
    });
  });

  it('speaks HTTP/1.1 through a tunnel, too, even with a server that offers more', async () => {
    const versions: string[] = [];
    const target = await listen(
      createSecureServer({ ...SELF_SIGNED, allowHTTP1: true }, (request, response) => {
        versions.push(request.httpVersion);
        request.resume().on('end', () => response.end('{}'));
      }),
    );
    const proxy = await tunnelTo(target);
    const trusted = getCACertificates('default');
    setDefaultCACertificates([...trusted, SELF_SIGNED.cert]);
    try {
      const answer = await post(`https://localhost:${target}`, {}, { proxy: through(proxy) });
      expect(answer.status).toBe(200);
    } finally {
      setDefaultCACertificates(trusted);
    }
    expect(versions).toEqual(['1.1']);
  });
});
