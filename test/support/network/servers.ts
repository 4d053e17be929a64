import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach } from 'vitest';
import { createTransport, type HttpRequest } from '../../../src/service/transport.ts';
import { systemClock } from '@research-mirror/runtime/clock';

type Options = Parameters<typeof createTransport>[0];

/** The API key that `get` and `post` send. */
export const KEY = 'sk_test_0123456789';

/** Servers that tests play, and requests to them. To be called once in a test file: all are closed after each test. */
export function servers() {
  const closing: (() => unknown)[] = [];
  /** Closes all that was opened so far. */
  const closeAll = async (): Promise<void> => {
    for (const close of closing.splice(0).toReversed()) await close();
  };
  afterEach(closeAll);
  /** Listens on loopback. @returns its port */
  const listen = async (server: Server): Promise<number> => {
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => {
      sockets.add(socket.on('error', () => {}));
    });
    closing.push(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const serve = async (listener: RequestListener) => {
    const server = createHttpServer(listener);
    const port = await listen(server);
    return { url: `http://127.0.0.1:${port}`, port, server };
  };
  /** A server of plain TCP: `onConnection` has each connection's socket. @returns its port */
  const tcp = (onConnection: (socket: Socket) => void): Promise<number> => listen(createServer(onConnection));
  /** Keeps what it is sent, and answers `200` with an empty object. */
  const service = async () => {
    const received: IncomingMessage[] = [];
    const { url, port } = await serve((request, response) => {
      received.push(request);
      request.resume().on('end', () => response.end('{}'));
    });
    return { url, port, received };
  };
  /** A proxy that accepts whatever tunnel it is asked for, and leads it to `port`. @returns its own port */
  const tunnelTo = (port: number): Promise<number> =>
    tcp((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        const onward = connect(port, '127.0.0.1').on('error', () => {});
        onward.pipe(socket).pipe(onward);
      });
    });
  const transport = (baseUrl: string, options: Partial<Options> = {}) => {
    const userAgent = 'research-mirror/test';
    const made = createTransport({ baseUrl, clock: systemClock, userAgent, ...options });
    closing.push(() => made.close());
    return made;
  };
  /** A `POST` of its own transport. */
  const post = (baseUrl: string, asked: Partial<HttpRequest> = {}, options: Partial<Options> = {}) =>
    transport(baseUrl, options).send({
      method: 'POST',
      path: '/v1/research',
      key: KEY,
      body: '{"url":"https://example.com"}',
      signal: new AbortController().signal,
      once: true,
      maxBytes: 1000,
      ...asked,
    });
  return { listen, serve, tcp, service, tunnelTo, transport, post, closeAll };
}

export function get(
  transport: ReturnType<typeof createTransport>,
  path = '/v1/ping',
  signal = new AbortController().signal,
) {
  return transport.get(path, KEY, signal, 'page');
}

/** Answers every request so. */
export function answerWith(body: string | Buffer, headers: Record<string, string> = {}, status = 200): RequestListener {
  return (_, response) => {
    response.writeHead(status, headers).end(body);
  };
}

/** TLS goes through the proxy on this port of loopback. */
export function through(port: number): NonNullable<Options['proxy']> {
  return { http: undefined, https: `http://127.0.0.1:${port}`, except: undefined };
}
